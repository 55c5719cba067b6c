// The contract's messages and services, and clients for them over any transport of Connect.

import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
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

/** A value that was refused, and why. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

/** What a refused call says of each wrong value; empty for any other failure. */
export function violationsOf(error: unknown): readonly Violation[] {
  return ConnectError.from(error)
    .findDetails(BadRequestSchema)
    .flatMap(({ fieldViolations }) =>
      fieldViolations.map(({ field, description }) => ({ field, description })),
    );
}

/** Failures after which the next stream goes on where this one ended. */
const PASSING: ReadonlySet<Code> = new Set([
  Code.Aborted,
  // What HTTP/2 says of a connection that broke: a caller who ends it is asked for before.
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.ResourceExhausted,
  Code.Unavailable,
  Code.Unknown,
]);

/** Between two streams, in milliseconds, doubled each time. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

/**
 * Watches the settings over as many streams as it takes: after a broken one it goes on behind the last
 * revision that was read, so that nothing is missed and nothing comes twice.
 *
 * @param options.afterRevision begin behind it; without it the first event is a snapshot.
 * @param options.signal ends it.
 * @throws ConnectError that no further stream would mend: a wrong token, or OUT_OF_RANGE where the
 * history does not reach back so far; then begin anew without `afterRevision`.
 */
export async function* watchSettings(
  { settings }: Pick<Mooring, "settings">,
  options: {
    readonly afterRevision?: bigint;
    readonly keys?: readonly string[];
    readonly signal?: AbortSignal;
  } = {},
): AsyncIterable<WatchSettingsResponse> {
  const { keys = [], signal } = options;
  let after = options.afterRevision;
  const call = signal === undefined ? {} : { signal };
  const ended = (): boolean => signal?.aborted === true;
  let pause = FIRST_PAUSE;
  while (!ended()) {
    const from = after === undefined ? {} : { afterRevision: after };
    try {
      for await (const event of settings.watchSettings({ keys: [...keys], ...from }, call)) {
        after = event.revision;
        pause = FIRST_PAUSE;
        yield event;
      }
    } catch (error) {
      if (ended()) return;
      if (!PASSING.has(ConnectError.from(error).code)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}
