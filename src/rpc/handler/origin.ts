import type { RevisionOrigin } from "../../store/setting-store.ts";
import type { Call } from "../method.ts";

/** Longest reason that the history keeps, in characters. */
const MAX_REASON = 500;

/**
 * Who makes a change, for the history.
 *
 * @param reason what the request says; a request that has no place for it may use the header (or
 * metadata) `x-change-reason`.
 */
export function originOf(call: Call, method: string, reason = ""): RevisionOrigin {
  return {
    actor: call.actor ?? "",
    door: call.door,
    method,
    requestId: call.requestId,
    peer: call.peer,
    reason: (reason || (call.header.get("x-change-reason") ?? "")).slice(0, MAX_REASON),
  };
}
