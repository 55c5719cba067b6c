import { seenFailure, writeFailure } from "../database/error.ts";
import { createReplica, oncePerTick } from "../database/replica.ts";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { Sealer } from "../secrets/sealer.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { createItemCodec, type ItemCodec, type SettingItem } from "../settings/item.ts";
import { SETTINGS, type SettingRules, settingRules } from "../settings/kind.ts";
import { MOUNT_PREFIX, MOUNTS, mountRules } from "../settings/mount-key.ts";
import { TOKEN_KEY } from "../settings/token.ts";
import type { Limit } from "./limit.ts";
import { loadSealed } from "./sealing.ts";
import { createSnapshot, type ItemChange, type Snapshot } from "./snapshot.ts";
import type {
  LedgerStore,
  RevisionCommit,
  StoredChange,
  StoredDelta,
  StoredState,
} from "./store.ts";
import {
  type Changed,
  type ChangeOptions,
  type ChangeOrigin,
  type Committed,
  createWriter,
  type Decide,
} from "./writer.ts";

export interface EngineDeps {
  readonly store: LedgerStore;
  readonly definitions: readonly SettingDefinition[];
  /** Seals the values of secret settings in the database. */
  readonly sealer: Sealer;
  /** Hashes secret values for the history. */
  readonly fingerprint: Fingerprint;
  /** Bounds of all records together. Default: none. */
  readonly limits?: readonly Limit[];
  /** Called between large changes, to collect their garbage. Default: none. */
  readonly collect?: () => void | Promise<void>;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Name of a key in the audit. Default: the key. */
  readonly showKey?: ((key: string) => string) | undefined;
  /** Called when the database cannot be read; reads continue from memory. */
  readonly onReadFailure: (error: unknown) => void;
}

/** Maximum length of a reason, in characters. */
const MAX_REASON = 500;

/** Called for every commit of any process on the database, in order, after it is visible. */
interface CommitListener {
  append(commits: readonly RevisionCommit[]): void;
  /** Called when commits are not passed, because there were too many; the history has them. */
  skipTo(revision: number): void;
  /** Called when the database was replaced by an older state. */
  reset(revision: number): void;
}

/** In-memory settings, and the only way to change them. */
export interface Ledger {
  /** All settings at the newest revision known to this process. */
  snapshot(): Snapshot;
  /**
   * Newest revision of any process on this database. Called for every call with a token, so that a token
   * that was reset elsewhere is refused at once. Calls of one event-loop tick share one check.
   */
  fresh(): Promise<Snapshot>;
  /** Like fresh, without sharing: synchronous if no process has committed. @throws as fresh. */
  look(): void | Promise<void>;
  /** Reads commits of other processes unconditionally. @throws as fresh. */
  refresh(): Promise<Snapshot>;
  /**
   * Changes settings in one transaction. A change of the permanent token resolves when no process
   * accepts the old one.
   *
   * @throws as decide; INVALID_ARGUMENT for a too long reason; UNAVAILABLE or RESOURCE_EXHAUSTED
   *   when the database cannot be written.
   */
  change<T>(origin: ChangeOrigin, decide: Decide<T>, options?: ChangeOptions): Promise<Changed<T>>;
  /** Sets the only listener, the feed. */
  listen(listener: CommitListener): void;
  /** Invalidates cached replies after a change other than a commit. */
  touch(): void;
}

/**
 * Loads the settings and starts the ledger. Values that are unsealed or sealed with an older key
 * are sealed with the first key.
 *
 * @throws ServiceError when a sealed value cannot be opened; StoreError.
 */
export async function createLedger(deps: EngineDeps): Promise<Ledger> {
  const { store, definitions } = deps;
  const codec = createItemCodec(deps);
  const rules = settingRules(definitions);
  const restored = (state: StoredState) => restoreSnapshot(state, rules, codec);
  const changeOf = (key: string, item: SettingItem | undefined): ItemChange => ({
    kind: key.startsWith(MOUNT_PREFIX) ? MOUNTS : SETTINGS,
    key,
    item,
  });
  let snapshot = restored(await loadSealed({ ...deps, isSecret: codec.isSecret }));
  let listener: CommitListener | undefined;
  let { databaseId } = store;

  const catchUp = (news: StoredDelta | StoredState): Snapshot => {
    if (!("changed" in news)) {
      const isOther = news.revision < snapshot.revision || store.databaseId !== databaseId;
      databaseId = store.databaseId;
      snapshot = restored(news);
      if (isOther) listener?.reset(news.revision);
      else listener?.skipTo(news.revision);
      return snapshot;
    }
    // A read that began earlier may finish later.
    if (news.revision <= snapshot.revision) return snapshot;
    snapshot = snapshot.with(
      news.revision,
      [
        ...news.changed.map((row) => changeOf(row.key, codec.fromStored(row))),
        ...news.deleted.map((key) => changeOf(key, codec.absent(key))),
      ],
      news.mark ?? "",
    );
    if (news.commits === undefined) listener?.skipTo(news.revision);
    else listener?.append(news.commits);
    return snapshot;
  };

  const publish = (committed: readonly Committed[]): void => {
    const news = committed.filter(({ commit }) => commit.revision > snapshot.revision);
    const last = news.at(-1)?.commit;
    if (last !== undefined)
      snapshot = snapshot.with(
        last.revision,
        news.flatMap(({ items }) =>
          items.map(({ kind, key, after }) => ({ kind, key, item: after })),
        ),
        last.mark ?? "",
      );
    listener?.append(committed.map(({ commit }) => commit));
  };

  const { fresh, refresh } = createReplica({
    read: async () => void catchUp((await store.delta(snapshot.revision)) ?? (await store.load())),
    isStale: () => store.changedElsewhere(),
    onFailure: deps.onReadFailure,
  });
  const now = (): Snapshot => snapshot;

  const writer = createWriter({
    store,
    codec,
    showKey: deps.showKey ?? ((key) => key),
    limits: deps.limits ?? [],
    now: deps.now,
    snapshot: () => snapshot,
    catchUp,
    publish,
    collect: deps.collect ?? (() => undefined),
  });

  return {
    snapshot: () => snapshot,
    look: fresh,
    fresh: oncePerTick(() => fresh()?.then(now) ?? snapshot),
    refresh: () => refresh().then(now),
    change: async (origin, decide, options) => {
      checkReason(origin.reason);
      let failure = writeFailure;
      try {
        const changed = await writer.change(origin, decide, options);
        failure = seenFailure;
        if (options?.dryRun !== true && changed.commit?.changes.some(endsRight))
          await store.seenEverywhere(changed.revision);
        return changed;
      } catch (error) {
        throw failure(error);
      }
    },
    listen: (to) => {
      listener = to;
    },
    touch: () => {
      snapshot = snapshot.with(snapshot.revision, []);
    },
  };
}

/** Reports whether a change ends the rights of a token. */
function endsRight({ key }: StoredChange): boolean {
  return key === TOKEN_KEY;
}

function checkReason(reason: string): void {
  // The number of characters is at most that of code units.
  if (reason.length <= MAX_REASON) return;
  const length = countCharacters(reason);
  if (length > MAX_REASON)
    throw invalid([
      {
        field: "reason",
        description: message("REASON_TOO_LONG", { length, most: MAX_REASON }),
      },
    ]);
}

/**
 * Number of Unicode characters of a text, counted without an array: a request can contain millions.
 */
function countCharacters(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/**
 * Creates the first snapshot of a process, or the one after the database was replaced, from stored
 * rows: known settings without a row have their defaults.
 */
function restoreSnapshot(
  { revision, mark, records: settings }: StoredState,
  rules: SettingRules,
  { fromStored, absent }: Pick<ItemCodec, "fromStored" | "absent">,
): Snapshot {
  const stored = new Map(settings.map((row) => [row.key, row]));
  const known = rules.known.map((key) => {
    const row = stored.get(key);
    return row === undefined ? absent(key) : fromStored(row);
  });
  const keys = new Set(rules.known);
  const others = settings.filter((row) => !keys.has(row.key)).map(fromStored);
  const items = [...known, ...others].filter((item) => item !== undefined);
  return createSnapshot(
    revision,
    [
      { rules, items: items.filter(({ origin }) => origin !== "mount") },
      { rules: mountRules, items: items.filter(({ origin }) => origin === "mount") },
    ],
    mark,
  );
}
