import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetStatusResponseSchema,
  type StatusService as StatusServiceDesc,
} from "../../gen/mooring/v1/status_service_pb.js";
import { grantOf } from "../access/admission.ts";
import type { EndingToken } from "../access/ending.ts";
import type { IncidentService } from "../incidents/service.ts";
import { rightsOfCaller } from "../settings/rights.ts";
import type { Snapshot } from "../settings/snapshot.ts";
import type { StatusService } from "./status.ts";

/** Maximum number of tokens in a status. */
const MAX_NAMED = 20;

/** Source of StatusService. */
export interface StatusSource {
  readonly status: StatusService;
  readonly access: { endingTokens(): readonly EndingToken[] };
  readonly settings: { snapshot(): Snapshot };
  readonly incidents: Pick<IncidentService, "list">;
}

/** Maximum number of counted incidents. */
const MAX_INCIDENTS = 1_000;

/** Implements StatusService. */
export function statusImpl(source: StatusSource): ServiceImpl<typeof StatusServiceDesc> {
  const snapshot = (): Snapshot => source.settings.snapshot();
  return {
    getStatus: async (_request, context) => {
      const { isLimited, canReadItem } = rightsOfCaller(context, snapshot);
      const ending = source.access.endingTokens();
      const named = grantOf(context).has("tokens:manage") ? ending.slice(0, MAX_NAMED) : [];
      const incidents = grantOf(context).has("incidents:read")
        ? await source.incidents.list({ open: true, limit: MAX_INCIDENTS })
        : [];
      const { startTime, revision, checks, ...status } = await source.status.status();
      return create(GetStatusResponseSchema, {
        ...status,
        startTime: timestampFromMs(startTime),
        processId: process.pid,
        revision: BigInt(revision),
        ...(isLimited ? { settings: [...snapshot().items()].filter(canReadItem).length } : {}),
        openIncidentCount: incidents.length,
        endingTokenCount: ending.length,
        endingTokens: named.map(({ principal, tokenId, until }) => ({
          principal,
          tokenId,
          expireTime: timestampFromMs(until),
        })),
        checks: checks.map(({ name, problem = "", note = "" }) => ({ name, problem, note })),
      });
    },
  };
}
