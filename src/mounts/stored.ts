import { changedSecrets, isVoid } from "../ledger/commit.ts";
import type { ChangeHeader, StoredChange } from "../ledger/store.ts";
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

/** Paths of a mount on all sites, for rights on its changes. */
export interface MountAttributes {
  readonly paths: readonly string[];
}

/** Paths of a mount before and after a change. */
export function pathsOfChange({
  oldAttributes,
  newAttributes,
}: Pick<ChangeHeader, "oldAttributes" | "newAttributes">): readonly string[] {
  return [oldAttributes, newAttributes].flatMap((json) =>
    json === null ? [] : (JSON.parse(json) as MountAttributes).paths,
  );
}

/**
 * Secret parts that a change shows: those that differ, and those set by a caller who may not read
 * them, so that the history does not confirm a guess. A change without a difference shows all secret
 * parts.
 */
export function shownSecrets(change: StoredChange): readonly string[] {
  const all = [
    ...new Set([...Object.keys(change.oldHashes ?? {}), ...Object.keys(change.newHashes ?? {})]),
  ];
  if (isVoid(change)) return all;
  const changed = new Set([...changedSecrets(change), ...givenBlindly(change)]);
  return all.filter((part) => changed.has(part));
}

/** Secret parts of the blind items that a change adds or removes. */
function givenBlindly({ oldBody, newBody }: StoredChange): readonly string[] {
  const [before, after] = [oldBody, newBody].map((body) => {
    const blind = body === null ? [] : (readBody(body).blind ?? []);
    return new Map(blind.map((each) => [`${each.revision} ${partOf(each)}`, partOf(each)]));
  });
  if (before === undefined || after === undefined) return [];
  return [
    ...[...before].flatMap(([given, part]) => (after.has(given) ? [] : [part])),
    ...[...after].flatMap(([given, part]) => (before.has(given) ? [] : [part])),
  ];
}
