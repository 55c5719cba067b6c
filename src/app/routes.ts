import type { DescService } from "@bufbuild/protobuf";
import type { ConnectRouter, ServiceImpl } from "@connectrpc/connect";
import { Health } from "../../gen/health/v1/health_pb.js";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { IncidentService } from "../../gen/mooring/v1/incident_service_pb.js";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { RuleService } from "../../gen/mooring/v1/rule_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { StatusService } from "../../gen/mooring/v1/status_service_pb.js";
import { UserService } from "../../gen/mooring/v1/user_service_pb.js";
import { WebhookService } from "../../gen/mooring/v1/webhook_service_pb.js";
import { accessImpl } from "../access/rpc.ts";
import type { AccessService as Accesses } from "../access/service.ts";
import type { Archive } from "../archive/archive.ts";
import { archiveImpl } from "../archive/rpc.ts";
import type { Recorder } from "../audit/recorder.ts";
import { auditImpl } from "../audit/rpc.ts";
import type { AuditService as Audit } from "../audit/service.ts";
import { backupsImpl } from "../backups/rpc.ts";
import type { ScheduleState } from "../backups/schedule.ts";
import type { BackupService as Backups } from "../backups/service.ts";
import type { DriverService as Drivers } from "../drivers/driver.ts";
import { driverImpl } from "../drivers/rpc.ts";
import type { GatewayOptions } from "../gateway/options.ts";
import { RuleError } from "../gateway/rest/rule.ts";
import { type HistoryServices, historyImpl } from "../history/rpc.ts";
import { type IncidentSite, incidentImpl } from "../incidents/rpc.ts";
import { webhookImpl } from "../incidents/webhook/rpc.ts";
import type { WebhookService as Webhooks } from "../incidents/webhook/service.ts";
import { createTranslations } from "../messages/language.ts";
import type { MountSource } from "../mounts/reply.ts";
import { mountImpl } from "../mounts/rpc.ts";
import type { RuleSource } from "../rules/reply.ts";
import { ruleImpl } from "../rules/rpc.ts";
import { publicImpl } from "../settings/public-rpc.ts";
import { settingImpl } from "../settings/rpc.ts";
import { type WatchSource, watchImpl } from "../settings/watch-rpc.ts";
import type { SiteSource } from "../sites/reply.ts";
import { siteImpl } from "../sites/rpc.ts";
import { userImpl } from "../users/rpc.ts";
import type { UserService as Users } from "../users/service.ts";
import type { HealthStatus } from "./health.ts";
import { type StatusService as Statuses, statusImpl } from "./status.ts";

/** The services behind the contract. */
export interface Services
  extends WatchSource,
    SiteSource,
    IncidentSite,
    MountSource,
    RuleSource,
    HistoryServices {
  readonly webhooks: Webhooks;
  readonly users: Users;
  readonly drivers: Drivers;
  readonly archive: Archive;
  readonly backups: Backups;
  readonly backupState: () => ScheduleState;
  readonly status: Statuses;
  readonly access: Accesses;
  readonly audit: Audit & Recorder;
}

/** The services of the contract. */
export const servedServices = [
  PublicService,
  DriverService,
  SettingService,
  BackupService,
  SiteService,
  MountService,
  RuleService,
  UserService,
  IncidentService,
  WebhookService,
  AccessService,
  AuditService,
  StatusService,
] as const;

/**
 * Registers all services: the one place that assigns services to the contract.
 *
 * @param translations of texts for display; default: those of the program.
 */
export function createRoutes(
  services: Services,
  health?: HealthStatus,
  translations = createTranslations(),
) {
  const { access, archive, audit, drivers, pendingSites, publicReads, settings } = services;
  const { watchSettings, watchPublicSettings } = watchImpl(services, translations);
  return (router: ConnectRouter): void => {
    // The router's own types accept an implementation with missing methods.
    const serve = <S extends DescService>(service: S, all: ServiceImpl<S>): void =>
      void router.service(service, all);
    serve(PublicService, { ...publicImpl(publicReads), watchPublicSettings });
    serve(DriverService, driverImpl(drivers, translations));
    serve(SettingService, {
      ...settingImpl(settings, audit, translations, services.pendingSites),
      ...historyImpl(services, translations),
      watchSettings,
    });
    serve(BackupService, {
      ...archiveImpl(archive, audit, translations, pendingSites),
      ...backupsImpl(services.backups, services.backupState, audit, translations, pendingSites),
    });
    serve(SiteService, siteImpl(services, translations));
    serve(MountService, mountImpl(services, audit, translations));
    serve(RuleService, ruleImpl(services, audit, translations));
    serve(UserService, userImpl(services.users, translations));
    serve(IncidentService, incidentImpl(services, translations));
    serve(WebhookService, webhookImpl(services, translations));
    serve(AccessService, accessImpl(access));
    serve(AuditService, auditImpl(audit));
    serve(StatusService, statusImpl(services));
    if (health !== undefined) serve(Health, health.impl);
  };
}

/**
 * Gateway options of Mooring's REST contract (docs/rest-contract.md), which is older than the
 * defaults of google.api.http and stays compatible with its clients.
 */
export const restContract = {
  memberNames: "proto",
  errors: "envelope",
  warn: (message: string): never => {
    throw new RuleError(message);
  },
  largeIntegers: "refuse",
  // Services return the same message while their state is unchanged, and a new one for a new state.
  immutableReplies: true,
  binaryOptions: { readUnknownFields: false },
  tolerance: {
    emptyParameters: true,
    unusableParameters: true,
    repeatedParameters: true,
    memberCase: true,
    parameterBodies: true,
    nullBody: true,
    emptyNumbers: true,
    trailingSlash: true,
  },
} as const satisfies Partial<GatewayOptions>;
