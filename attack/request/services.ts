import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { IncidentService } from "../../gen/mooring/v1/incident_service_pb.js";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { StatusService } from "../../gen/mooring/v1/status_service_pb.js";
import { WebhookService } from "../../gen/mooring/v1/webhook_service_pb.js";

/** The services of the contract. */
export const services: readonly DescService[] = [
  PublicService,
  DriverService,
  SettingService,
  SiteService,
  MountService,
  IncidentService,
  WebhookService,
  AccessService,
  AuditService,
  StatusService,
];

/** Name of a method in the report, such as `SettingService.Rollback`. */
export function nameOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`;
}
