// The contract's messages and services, and clients for them over any transport of Connect.

import { type Client, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import {
  SettingService,
  type WatchSettingsResponse,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { StatusService } from "../../gen/mooring/v1/status_service_pb.js";
import { type FollowState, follow } from "./follow.ts";

export * from "../../gen/mooring/v1/access_pb.js";
export * from "../../gen/mooring/v1/access_service_pb.js";
export * from "../../gen/mooring/v1/audit_pb.js";
export * from "../../gen/mooring/v1/audit_service_pb.js";
export * from "../../gen/mooring/v1/driver_pb.js";
export * from "../../gen/mooring/v1/driver_service_pb.js";
export * from "../../gen/mooring/v1/public_service_pb.js";
export * from "../../gen/mooring/v1/setting_pb.js";
export * from "../../gen/mooring/v1/setting_service_pb.js";
export * from "../../gen/mooring/v1/site_pb.js";
export * from "../../gen/mooring/v1/site_service_pb.js";
export * from "../../gen/mooring/v1/status_service_pb.js";
export { type FollowOptions, type FollowState, follow, type StreamOptions } from "./follow.ts";

/** A client of each service. */
export interface Mooring {
  readonly public: Client<typeof PublicService>;
  readonly drivers: Client<typeof DriverService>;
  readonly settings: Client<typeof SettingService>;
  readonly sites: Client<typeof SiteService>;
  readonly access: Client<typeof AccessService>;
  readonly audit: Client<typeof AuditService>;
  readonly status: Client<typeof StatusService>;
}

export function createMooring(transport: Transport): Mooring {
  return {
    public: createClient(PublicService, transport),
    drivers: createClient(DriverService, transport),
    settings: createClient(SettingService, transport),
    sites: createClient(SiteService, transport),
    access: createClient(AccessService, transport),
    audit: createClient(AuditService, transport),
    status: createClient(StatusService, transport),
  };
}

/** Rejected value with the reason. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** Field violations of a refused call; empty for any other failure. */
export function violationsOf(error: unknown): readonly Violation[] {
  return ConnectError.from(error)
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) =>
      fieldViolations.map(({ field, description }) => ({ field, description })),
    );
}

/**
 * Watches the settings over as many streams as needed: after a break the next stream resumes after
 * the last state that was read, so that no change is missed or repeated. If the database was
 * restored from a copy meanwhile, the next event is a snapshot.
 *
 * @param options.afterEtag etag of a read or an event: starts after its state. Without it, and if the
 *   database does not have the state, the first event is a snapshot.
 * @param options.signal ends the watch without an error.
 * @param options.onState called when the watch is connected, waits for a new attempt, or has
 *   failed.
 * @throws ConnectError that is not retried, such as an invalid token.
 */
export function watchSettings(
  { settings }: Pick<Mooring, "settings">,
  options: {
    readonly afterEtag?: string;
    readonly keys?: readonly string[];
    readonly signal?: AbortSignal;
    readonly onState?: (state: FollowState) => void;
  } = {},
): AsyncIterable<WatchSettingsResponse> {
  const { afterEtag, keys = [], ...rest } = options;
  return follow<WatchSettingsResponse, string>({
    ...rest,
    from: afterEtag,
    positionOf: ({ etag }) => etag,
    open: (from, call) =>
      settings.watchSettings(
        { keys: [...keys], ...(from === undefined ? {} : { afterEtag: from }) },
        call,
      ),
  });
}
