import type { Scalar } from "../../drivers/item-value.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { itemKind } from "./item-kind.ts";
import { type Addition, plainValue, type StorageRow, type WantedMount } from "./row.ts";
import type { MountState, Rewritten } from "./state.ts";

/** Differences between the row of a site and Mooring's mount, without `disabled`. */
export interface Difference {
  /** Items and members to be pushed, in the order of the mount. */
  readonly push: readonly string[];
  /** Content that users have edited on the site, for adoption. */
  readonly adopt: Readonly<Record<string, Scalar>>;
}

/**
 * Compares a site's row with the desired mount. Learned items are skipped, and so are members that
 * the mount or the server does not have. A value that the site has normalised counts as equal.
 */
export function compareMount(
  mount: WantedMount,
  row: StorageRow,
  addition: Addition,
  { state, hash }: { readonly state: MountState; readonly hash: Fingerprint },
): Difference {
  const push: string[] = [];
  const adopt: Record<string, Scalar> = {};
  if (mount.path !== row.mount_path) push.push("mount_path");
  for (const [name, value] of Object.entries(mount.members))
    if (Object.hasOwn(row, name) && differs(name, value, row[name])) push.push(name);
  for (const [name, value] of Object.entries(mount.items)) {
    const kind = itemKind(mount.driver, name);
    if (kind !== "learned" && (mount.blind?.get(name) ?? 0) > state.sent) {
      push.push(name);
      continue;
    }
    if (kind === "learned" || !differs(name, value, ownValue(addition, name))) continue;
    const there = plainValue(ownValue(addition, name), value);
    if (kind === "content" && mount.content === "adopt" && isEditedThere(name, value))
      setOwn(adopt, name, there as Scalar);
    else push.push(name);
  }
  return { push, adopt };

  function differs(name: string, value: Scalar, found: unknown): boolean {
    const there = plainValue(found, value);
    if (there === value) return false;
    const mark = ownValue(state.rewritten, name);
    return mark === undefined || !isMarked(mark, value, there, hash);
  }

  /** Reports whether the site's value is newer: Mooring's has not changed since both were equal. */
  function isEditedThere(name: string, value: Scalar): boolean {
    const mark = ownValue(state.content, name);
    return mark === undefined || hash.isOf(mark.sent, JSON.stringify(value)) === true;
  }
}

/** Reports whether a mark is one of these values. */
export function isMarked(
  { sent, got }: Rewritten,
  value: Scalar,
  there: unknown,
  hash: Fingerprint,
): boolean {
  return (
    hash.isOf(sent, JSON.stringify(value)) === true &&
    hash.isOf(got, JSON.stringify(there)) === true
  );
}

/** Value of an item or member of a site's row. @param like Mooring's value. */
export function valueThere(
  name: string,
  like: Scalar,
  mount: WantedMount,
  row: StorageRow,
  addition: Addition,
): unknown {
  const isMember = name === "mount_path" || Object.hasOwn(mount.members, name);
  return plainValue(ownValue(isMember ? row : addition, name), like);
}

/** Records the content items when both sides are equal. */
export function contentMarks(
  mount: WantedMount,
  addition: Addition,
  hash: Fingerprint,
): Record<string, Rewritten> {
  return Object.fromEntries(
    Object.entries(mount.items).flatMap(([name, value]) =>
      itemKind(mount.driver, name) === "content" && ownValue(addition, name) === value
        ? [[name, markOf(value, value, hash)]]
        : [],
    ),
  );
}

/** A pair of values, as hashes. */
export function markOf(value: Scalar, there: unknown, hash: Fingerprint): Rewritten {
  return { sent: hash.of(JSON.stringify(value)), got: hash.of(JSON.stringify(there)) };
}

/** Placeholder for the hash of a row without learned items. */
const NONE = "none";

/** Keyed hash of the learned items of a row, in one order: it changes when the site refreshes one. */
export function learnedHash(row: StorageRow, addition: Addition, hash: Fingerprint): string {
  const text = learnedText(row, addition);
  return text === "" ? NONE : hash.of(text);
}

/**
 * Reports whether the learned items of a row differ from those of a stored hash. Of a hash by an
 * earlier sealing key this is unknown: then they count as equal, so that the user's credential is sent.
 */
export function differsFromLearned(
  stored: string,
  { row, addition }: { readonly row: StorageRow; readonly addition: Addition },
  hash: Fingerprint,
): boolean {
  const text = learnedText(row, addition);
  if (stored === NONE || text === "") return (stored === NONE) !== (text === "");
  return hash.isOf(stored, text) === false;
}

/** The learned items of a row in one order; empty: it has none. */
function learnedText(row: StorageRow, addition: Addition): string {
  const learned = Object.entries(addition)
    .filter(([name]) => itemKind(row.driver, name) === "learned")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return learned.length === 0 ? "" : JSON.stringify(learned);
}
