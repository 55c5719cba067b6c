import type { Principal, Token } from "../../../gen/mooring/v1/access_pb.js";
import { accessService } from "./rights.ts";

/** All tokens, or those that open something now. */
export function allTokens(
  filter: { readonly active?: boolean },
  signal: AbortSignal,
): Promise<Token[]> {
  return allPages(async (pageToken) => {
    const page = await accessService.listTokens({ ...filter, pageToken }, { signal });
    return [page.tokens, page.nextPageToken];
  });
}

/** All principals but `root`. */
export function allPrincipals(signal: AbortSignal): Promise<Principal[]> {
  return allPages(async (pageToken) => {
    const page = await accessService.listPrincipals({ pageToken }, { signal });
    return [page.principals, page.nextPageToken];
  });
}

async function allPages<T>(
  read: (pageToken: string) => Promise<readonly [items: readonly T[], next: string]>,
): Promise<T[]> {
  const all: T[] = [];
  let next = "";
  do {
    const [items, after] = await read(next);
    for (const item of items) all.push(item);
    next = after;
  } while (next !== "");
  return all;
}
