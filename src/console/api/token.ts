import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Token } from "../../../gen/mooring/v1/access_pb.js";

/** Most important state of a token. */
export type TokenState =
  | "active"
  /** It ends before long, and nothing takes its place. */
  | "soon"
  /** A successor takes its place, and it has not ended yet. */
  | "replaced"
  | "ended"
  | "revoked"
  /** Its principal is disabled. */
  | "disabled";

/** When a token ends, in milliseconds since 1970 UTC; undefined: never. */
export function endOf({ expireTime }: Token): number | undefined {
  return expireTime && timestampMs(expireTime);
}

export function stateOf(token: Token, now: number = Date.now()): TokenState {
  const end = endOf(token);
  if (token.revokeTime) return "revoked";
  if (end !== undefined && end <= now) return "ended";
  if (!token.active) return "disabled";
  if (token.replacedBy !== "") return "replaced";
  return token.endsSoon ? "soon" : "active";
}
