import { Code } from "@connectrpc/connect";
import { RevisionConflict } from "../ledger/conflict.ts";
import type { Draft } from "../ledger/draft.ts";
import { NO_RECORD, type RecordEtags, revisionOfRecord } from "../ledger/record-etag.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { LedgerStore } from "../ledger/store.ts";
import { ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { SettingItem, Skipped } from "./item.ts";
import { oldHashOf, SETTINGS, settingNamed } from "./kind.ts";
import { MASK } from "./value.ts";

/** Change of one setting, with the states that its client relies on. */
export interface Expectation {
  readonly key: string;
  /** New value; undefined: unchanged. */
  readonly value?: string | undefined;
  /** Precondition: the setting has this etag. */
  readonly expectedEtag?: string | undefined;
  /** Etag of the setting that the client has read. */
  readonly seenEtag?: string | undefined;
}

/** Etag of a setting; undefined: it does not exist. */
export function settingEtag(item: SettingItem | undefined, etags: RecordEtags): string {
  if (item === undefined) return NO_RECORD;
  return etags.of({ key: item.key, revision: item.revision, content: item.value });
}

/** @throws RevisionConflict when a setting has another etag than its client expects. */
export function refuseChanged(
  draft: Draft,
  inputs: readonly Expectation[],
  etags: RecordEtags,
): void {
  for (const { key, expectedEtag } of inputs)
    if (expectedEtag !== undefined && expectedEtag !== settingEtag(draft.get(SETTINGS, key), etags))
      throw new RevisionConflict(revisionOfRecord(expectedEtag) ?? 0, settingNamed(key));
}

/** The history has grown between its reading and the decision: retry. */
class Moved extends Error {
  override readonly name = "Moved";
}

/** Reports whether something has changed since it was read: only then the history is needed. */
export function hasStale(
  inputs: readonly Expectation[],
  base: Snapshot,
  etags: RecordEtags,
): boolean {
  return isPage(inputs, base) && inputs.some((input) => isStale(input, base, etags));
}

/** Inputs of a save, and those that are not saved. */
export interface Settled<Input> {
  readonly inputs: readonly Input[];
  readonly outdated: readonly Skipped[];
}

/**
 * Separates items that a page sends back unchanged although another caller has changed them since
 * the page read them. A caller knows the values that it has saved itself: what it sends after its
 * own save is compared with that save, not with the read before it, so that a value can be set back
 * from the same page.
 *
 * This applies to saves of several settings of one group, as pages send them. A single setting is
 * meant as it is sent; a list of several groups is a restored backup, of which every value counts.
 *
 * @throws RevisionConflict when the history no longer has the value that the caller has saved.
 */
export async function withoutStale<Input extends Expectation>(
  sent: readonly Input[],
  base: Snapshot,
  deps: {
    readonly store: Pick<LedgerStore, "firstChanges" | "lastChangesBy" | "oldestRevision">;
    readonly fingerprint: Fingerprint;
    readonly etags: RecordEtags;
    /** The caller: name with the id of the token. */
    readonly actor: string;
  },
): Promise<Settled<Input>> {
  if (!isPage(sent, base)) return { inputs: sent, outdated: [] };
  const { store, fingerprint, etags } = deps;
  const stale = sent.filter((input) => isStale(input, base, etags));
  const read = stale.map(({ key, seenEtag = "" }) => ({
    key,
    after: revisionOfRecord(seenEtag) ?? 0,
  }));
  const own = await store.lastChangesBy(SETTINGS.name, deps.actor, read, base.revision);
  const asked = [...own].map(([key, after]) => ({ key, after }));
  const found =
    asked.length === 0 ? [] : await store.firstChanges(SETTINGS.name, asked, base.revision);
  // After the read of the changes, the oldest of which may be deleted at any time.
  const oldest = asked.length === 0 ? 0 : await store.oldestRevision();
  const kept = found.filter(({ after }) => after + 1 >= oldest);
  const changeOf = new Map(kept.map(({ key, change }) => [key, change]));
  /** Reports whether an input has the value that its caller knows. */
  const isUnchanged = ({ key, value, seenEtag = "" }: Input): boolean => {
    if (value === undefined) return false;
    const item = base.get(SETTINGS, key);
    const saved = own.get(key);
    if (saved === undefined)
      return seenEtag === NO_RECORD
        ? value === item?.definition?.default
        : etags.isOf(seenEtag, { key, content: value });
    if (item?.revision === saved) return false;
    const change = changeOf.get(key);
    // Accepting could revert a change by another client.
    if (change === undefined) throw new RevisionConflict(saved, settingNamed(key));
    const hash = oldHashOf(change);
    if (hash === undefined) return value === change.oldBody;
    const isSame = fingerprint.isOf(hash, value);
    // The key of the hash is no longer known.
    if (isSame === undefined) throw new RevisionConflict(saved, settingNamed(key));
    return isSame;
  };
  const unchanged = new Set(stale.filter(isUnchanged));
  return {
    inputs: sent.filter((input) => !unchanged.has(input)),
    outdated: [...unchanged].map(({ key }) => ({
      key,
      reason: message("CHANGED_SINCE_READ", { revision: base.get(SETTINGS, key)?.revision ?? 0 }),
      isOutdated: true,
    })),
  };
}

/** @throws Moved when a setting has changed since the history was read. */
export function refuseMoved(draft: Draft, inputs: readonly Expectation[], base: Snapshot): void {
  for (const { key, seenEtag } of inputs)
    if (
      seenEtag !== undefined &&
      draft.get(SETTINGS, key)?.revision !== base.get(SETTINGS, key)?.revision
    )
      throw new Moved();
}

function isStale(
  { key, value, seenEtag }: Expectation,
  base: Snapshot,
  etags: RecordEtags,
): boolean {
  const item = base.get(SETTINGS, key);
  if (seenEtag === undefined || item === undefined) return false;
  // A masked value is sent back unchanged.
  if (item.secret && value === MASK) return false;
  return item.value !== value && settingEtag(item, etags) !== seenEtag;
}

/** Reports whether a save may be that of a page: several settings of one group. */
function isPage(inputs: readonly Expectation[], base: Snapshot): boolean {
  return (
    inputs.length > 1 && new Set(inputs.map(({ key }) => base.get(SETTINGS, key)?.group)).size === 1
  );
}

/** Maximum number of attempts of one save. */
const MAX_TRIES = 10;

/** Retries while other clients save the same settings at the same time. */
export async function retryWhileMoved<T>(attempt: () => T | Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
      if (tries >= MAX_TRIES) throw new ServiceError(Code.Aborted, message("SAVED_ALL_THE_TIME"));
    }
  }
}
