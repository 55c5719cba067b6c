import type { Snapshot } from "../../ledger/snapshot.ts";
import { message, type Text } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { FLAG, type SettingItem } from "../../settings/item.ts";
import { SETTINGS } from "../../settings/kind.ts";
import { normalizeStoredValue } from "../../settings/value.ts";
import { createSelection } from "../selection.ts";
import type { Site, SiteState } from "../site.ts";
import type { SiteRow } from "./client.ts";
import { keyPolicyOf } from "./key-policy.ts";

/**
 * Sync status of a setting at a site.
 * - `same`; `differs`.
 * - `missing`: the site does not have the key. `extra`: Mooring does not.
 * - `excluded`: by the site's patterns; it differs.
 * - `pinned`: the site's value is invalid for Mooring, and stays.
 * - `refused`: the site has refused this value.
 * - `flapping`: another client changes it on the site repeatedly.
 */
export type SyncStatus =
  | "same"
  | "differs"
  | "missing"
  | "extra"
  | "excluded"
  | "pinned"
  | "refused"
  | "flapping";

export interface Comparison {
  readonly key: string;
  readonly sync: SyncStatus;
  /** Value to be pushed; undefined: Mooring does not have the key. */
  readonly wanted: string | undefined;
  /** Row of the site; undefined: it does not have the key. */
  readonly row: SiteRow | undefined;
  readonly item: SettingItem | undefined;
  readonly secret: boolean;
  /** Whether the wanted value is an override of the site. */
  readonly overridden: boolean;
  /** Whether the value was changed on the site after Mooring's value was applied. */
  readonly drifted: boolean;
  /** Note for the operator. */
  readonly note: Text;
}

/**
 * Compares a site's list with the wanted values. Keys that are never pushed or adopted, and keys that
 * are deprecated on both sides, are left out.
 */
export function compare(
  rows: readonly SiteRow[],
  site: Site,
  { state, snapshot, hash }: { state: SiteState; snapshot: Snapshot; hash: Fingerprint },
): Comparison[] {
  const selected = createSelection(site);
  const context = { site, state, snapshot, hash, selected };
  const known = new Map(rows.filter(isKnown).map((row) => [row.key, row]));
  const found: Comparison[] = [];
  for (const item of snapshot.of(SETTINGS).items()) {
    const { key, secret } = item;
    const row = known.get(key);
    known.delete(key);
    const { never, note = "" } = keyPolicyOf(key);
    if (never || item.flag === FLAG.deprecated) continue;
    const overridden = Object.hasOwn(site.overrides, key);
    const wanted = ownValue(site.overrides, key) ?? item.value;
    const drifted = state.appliedRevision > 0 && item.revision <= state.appliedRevision;
    const { sync, note: reason = note } = syncStatusOf(item, wanted, row, drifted, context);
    found.push({
      key,
      sync,
      wanted,
      row,
      item,
      secret,
      overridden,
      drifted,
      note: reason,
    });
  }
  for (const row of known.values()) {
    if (keyPolicyOf(row.key).never) continue;
    const sync = selected(row.key, row.group) ? "extra" : "excluded";
    found.push({
      key: row.key,
      sync,
      wanted: undefined,
      row,
      item: undefined,
      secret: row.flag === FLAG.private,
      overridden: false,
      drifted: false,
      note: keyPolicyOf(row.key).note ?? "",
    });
  }
  return found;
}

/** Inputs of the status of a key. */
interface Context {
  readonly site: Site;
  readonly state: SiteState;
  readonly snapshot: Snapshot;
  readonly hash: Fingerprint;
  /** Reports whether the patterns of the site select a key. */
  readonly selected: ReturnType<typeof createSelection>;
}

function syncStatusOf(
  item: SettingItem,
  wanted: string,
  row: SiteRow | undefined,
  drifted: boolean,
  context: Context,
): { readonly sync: SyncStatus; readonly note?: Text } {
  const { key } = item;
  const { site, state, hash, selected } = context;
  if (row === undefined) return { sync: "missing", note: message("KEY_UNKNOWN_TO_SITE") };
  if (isSameValue(key, wanted, row.value, context)) return { sync: "same" };
  if (!selected(key, item.group)) return { sync: "excluded" };
  const held = ownValue(state.held, key);
  if (held !== undefined && held.revision === item.revision && !Object.hasOwn(site.overrides, key))
    return { sync: "pinned", note: held.reason };
  const refused = ownValue(state.refused, key);
  if (refused !== undefined && hash.isOf(refused.hash, wanted) === true)
    return { sync: "refused", note: refused.reason };
  if (drifted && ownValue(state.corrections, key)?.isFlapping)
    return { sync: "flapping", note: message("FLAPPING") };
  return { sync: "differs" };
}

function isSameValue(
  key: string,
  wanted: string,
  there: string,
  { state, snapshot, hash }: Context,
): boolean {
  if (wanted === there) return true;
  const definition = snapshot.get(SETTINGS, key)?.definition;
  // The site's value has the same meaning.
  if (definition !== undefined && normalizeStoredValue(definition, there) === wanted) return true;
  const { trimmed, listed } = keyPolicyOf(key);
  if (trimmed && wanted.trim() === there.trim()) return true;
  if (ownValue(listed, wanted) === there) return true;
  const mark = ownValue(state.rewritten, key);
  return (
    mark !== undefined &&
    hash.isOf(mark.sent, wanted) === true &&
    hash.isOf(mark.got, there) === true
  );
}

/** Reports whether the site defines a setting: others have flag 3. */
export function isKnown({ flag }: SiteRow): boolean {
  return flag !== FLAG.deprecated;
}
