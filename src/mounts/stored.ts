import { shownSecrets } from "../ledger/shown-secrets.ts";
import type { StoredChange } from "../ledger/store.ts";
import type { Mount } from "./mount.ts";

/** Open part of a mount: everything but its name, its secrets and its revision. */
export type StoredMount = Omit<Mount, "name" | "revision" | "missing"> & {
  /** Absent: none. */
  readonly missing?: Mount["missing"];
};

/** Secret item of a mount. */
export interface SecretPlace {
  /** Id of the site whose override has it; empty: the mount itself. */
  readonly site: string;
  readonly item: string;
}

/** Name of a secret part: `SITE:ITEM`. Ids of sites have no colon. */
export function partOf({ site, item }: SecretPlace): string {
  return `${site}:${item}`;
}

/** Reads the name of a secret part. */
export function placeOf(part: string): SecretPlace {
  const colon = part.indexOf(":");
  return { site: part.slice(0, colon), item: part.slice(colon + 1) };
}

/** Reads the open part of a mount, which is all that the history has of it. */
export function readBody(body: string): Omit<Mount, "name" | "revision"> {
  const stored = JSON.parse(body) as StoredMount;
  return { ...stored, missing: stored.missing ?? [] };
}

/** Secret parts of a mount that a change shows. */
export function shownItems(change: StoredChange): readonly string[] {
  return shownSecrets(change, (body) =>
    (readBody(body).blind ?? []).map((each) => ({ part: partOf(each), revision: each.revision })),
  );
}
