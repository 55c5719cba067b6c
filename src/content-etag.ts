import { createHash } from "node:crypto";
import { sortedJson } from "./sorted-json.ts";

/** Number of characters of an etag, 6 bits each. */
const LENGTH = 16;

/**
 * Etag of a record without revisions, such as a site: a hash of its members, in any order.
 *
 * @param members those that replies show: an etag of others would tell whether a guess of a secret
 *   is right.
 */
export function contentEtag(members: object): string {
  const hash = createHash("sha256").update(sortedJson(members), "utf8");
  return hash.digest("base64url").slice(0, LENGTH);
}
