import { StoreError } from "../../store/error.ts";
import type {
  RevisionCommit,
  RevisionOrigin,
  SettingStore,
  StoredDelta,
  StoredState,
} from "../../store/setting-store.ts";
import type { Fingerprint } from "../secret/fingerprint.ts";
import type { Sealer } from "../secret/sealer.ts";
import { writeFailure } from "../store-failure.ts";
import { createCodec } from "./codec.ts";
import type { SettingDefinition } from "./definition.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import type { Snapshot } from "./snapshot.ts";
import {
  type Changed,
  type ChangeOptions,
  type Committed,
  createWriter,
  type Decide,
} from "./writer.ts";

export interface EngineDeps {
  readonly store: SettingStore;
  readonly definitions: readonly SettingDefinition[];
  /** Seals the values of secret settings in the database. */
  readonly sealer: Sealer;
  /** Stands for secret values in the history. */
  readonly fingerprint: Fingerprint;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Told when the database cannot be read; reads go on from memory. */
  readonly onReadFailure: (error: unknown) => void;
}

/** Hears of every commit of any process on the database, in order, once it is visible. */
export interface CommitListener {
  append(commits: readonly RevisionCommit[]): void;
  /** There were too many to hand over; those that are kept are in the history. */
  skipTo(revision: number): void;
  /** The database is an older state of itself. */
  reset(revision: number): void;
}

/** Holds the settings in memory and is the one way to change them. */
export interface Engine {
  /** All settings at the newest revision this process knows. */
  snapshot(): Snapshot;
  /**
   * The newest revision of any process on this database: asked at every call that carries a token,
   * so that a token reset elsewhere is refused at once. Synchronous while nothing has changed.
   */
  fresh(): Snapshot | Promise<Snapshot>;
  /**
   * Changes settings in one transaction.
   *
   * @throws what decide throws; UNAVAILABLE or RESOURCE_EXHAUSTED when the database does not take it.
   */
  change<T>(
    origin: RevisionOrigin,
    decide: Decide<T>,
    options?: ChangeOptions,
  ): Promise<Changed<T>>;
  /** There is one listener: the feed. */
  listen(listener: CommitListener): void;
  /** Makes replies be made anew, because something besides the values shows in them. */
  touch(): void;
}

/**
 * Loads the settings and starts the engine on them. Values that are sealed with an older key, or not
 * at all, are sealed with the first one.
 *
 * @throws ServiceError when a sealed value does not open; StoreError.
 */
export async function createEngine(deps: EngineDeps): Promise<Engine> {
  const { store, sealer } = deps;
  const codec = createCodec(deps);
  const state = await store.load();
  let snapshot = codec.snapshotOf(state);
  await reseal(store, sealer, snapshot, state);
  let listener: CommitListener | undefined;

  const catchUp = (news: StoredDelta | StoredState): Snapshot => {
    if (!("changed" in news)) {
      const isOlder = news.revision < snapshot.revision;
      snapshot = codec.snapshotOf(news);
      if (isOlder) listener?.reset(news.revision);
      else listener?.skipTo(news.revision);
      return snapshot;
    }
    // A call that began earlier may have finished later.
    if (news.revision <= snapshot.revision) return snapshot;
    snapshot = snapshot.with(news.revision, [
      ...news.changed.map((row) => [row.key, codec.fromStored(row)] as const),
      ...news.deleted.map((key) => [key, codec.absent(key)] as const),
    ]);
    if (news.commits === undefined) listener?.skipTo(news.revision);
    else listener?.append(news.commits);
    return snapshot;
  };

  const publish = (committed: readonly Committed[]): void => {
    const news = committed.filter(({ commit }) => commit.revision > snapshot.revision);
    const last = news.at(-1)?.commit.revision;
    if (last !== undefined)
      snapshot = snapshot.with(
        last,
        news.flatMap(({ items }) => items.map(({ key, after }) => [key, after] as const)),
      );
    listener?.append(committed.map(({ commit }) => commit));
  };

  /** Whether something was read, or tried to be, that is not in the snapshot yet. */
  let isBehind = false;
  const read = async (): Promise<Snapshot> => {
    isBehind = true;
    try {
      catchUp((await store.delta(snapshot.revision)) ?? (await store.load()));
      isBehind = false;
    } catch (error) {
      // A secret that does not open may be a new token: going on with the old one would let it in.
      if (!(error instanceof StoreError)) throw error;
      // Reads are served from memory while the database is out of reach.
      deps.onReadFailure(error);
    }
    return snapshot;
  };

  const refresh = oneAtATime(read);
  const isStale = (): boolean => {
    try {
      return store.changedElsewhere();
    } catch (error) {
      deps.onReadFailure(error);
      return false;
    }
  };

  const writer = createWriter({
    store,
    codec,
    now: deps.now,
    snapshot: () => snapshot,
    catchUp,
    publish,
  });

  return {
    snapshot: () => snapshot,
    // What is being read may be what this call asks for, though the store has seen it by now.
    fresh: () => (isBehind || refresh.isRunning() || isStale() ? refresh.run() : snapshot),
    change: (origin, decide, options) =>
      writer.change(origin, decide, options).catch((error: unknown) => {
        throw writeFailure(error);
      }),
    listen: (to) => {
      listener = to;
    },
    touch: () => {
      snapshot = snapshot.with(snapshot.revision, []);
    },
  };
}

async function reseal(
  store: SettingStore,
  sealer: Sealer,
  snapshot: Snapshot,
  state: StoredState,
): Promise<void> {
  const stale = state.settings.filter(
    (row) => snapshot.get(row.key)?.secret === true && sealer.needsReseal(row.value),
  );
  if (stale.length === 0) return;
  await store.rewrite(
    stale.map((row) => ({
      ...row,
      value: sealer.seal(row.key, snapshot.get(row.key)?.value ?? ""),
    })),
  );
}
