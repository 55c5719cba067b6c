import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Principal, Token } from "../../../gen/mooring/v1/access_pb.js";
import { allPages } from "./all-pages.ts";
import { accessService } from "./rights.ts";

/** Most important state of a token. */
export type TokenState =
  | "active"
  /** It expires soon and has no successor. */
  | "soon"
  /** It has a successor and has not ended yet. */
  | "replaced"
  | "ended"
  | "revoked"
  /** Its principal is disabled. */
  | "disabled";

/** End of a token, in milliseconds since 1970 UTC; undefined: never. */
export function endOf({ expireTime }: Token): number | undefined {
  return expireTime && timestampMs(expireTime);
}

export function stateOf(token: Token): TokenState {
  const end = endOf(token);
  if (token.revokeTime) return "revoked";
  if (end !== undefined && end <= Date.now()) return "ended";
  if (!token.active) return "disabled";
  if (token.replacedBy !== "") return "replaced";
  return token.expiresSoon ? "soon" : "active";
}

/** Reads all tokens, or only valid ones. */
export function allTokens(
  filter: { readonly active?: boolean },
  signal: AbortSignal,
): Promise<Token[]> {
  return allPages(async (pageToken) => {
    const page = await accessService.listTokens({ ...filter, pageToken }, { signal });
    return [page.tokens, page.nextPageToken];
  });
}

/** Reads all principals except `admin`. */
export function allPrincipals(signal: AbortSignal): Promise<Principal[]> {
  return allPages(async (pageToken) => {
    const page = await accessService.listPrincipals({ pageToken }, { signal });
    return [page.principals, page.nextPageToken];
  });
}
