import { Code } from "@connectrpc/connect";
import { StoreError } from "../../store/error.ts";
import type {
  RevisionCommit,
  RevisionOrigin,
  SettingStore,
  StoredDelta,
  StoredSetting,
  StoredState,
} from "../../store/setting-store.ts";
import { ServiceError } from "../error.ts";
import type { Fingerprint } from "../secret/fingerprint.ts";
import { createSealer, type Sealer } from "../secret/sealer.ts";
import type { ItemCodec } from "./commit.ts";
import type { SettingDefinition } from "./definition.ts";
import { itemFromStored, itemToStored, knownItem, type SettingItem } from "./item.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";
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
  /** There were too many to hand over; they are in the history. */
  skipTo(revision: number): void;
  /** The database is another one, or an older state of it. */
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
      snapshot = codec.snapshotOf(news);
      listener?.reset(news.revision);
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
    for (const { commit, items } of committed) {
      if (commit.revision <= snapshot.revision) continue;
      const changes = items.map(({ key, after }) => [key, after] as const);
      snapshot = snapshot.with(commit.revision, changes);
    }
    listener?.append(committed.map(({ commit }) => commit));
  };

  const refresh = async (): Promise<Snapshot> => {
    try {
      return catchUp((await store.delta(snapshot.revision)) ?? (await store.load()));
    } catch (error) {
      // A secret that does not open may be a new token: going on with the old one would let it in.
      if (!(error instanceof StoreError)) throw error;
      // Reads are served from memory while the database is out of reach.
      deps.onReadFailure(error);
      return snapshot;
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
    fresh: () => {
      try {
        return store.changedElsewhere() ? refresh() : snapshot;
      } catch (error) {
        deps.onReadFailure(error);
        return snapshot;
      }
    },
    change: (origin, decide, options) =>
      writer.change(origin, decide, options).catch(explainStoreFailure),
    listen: (to) => {
      listener = to;
    },
    touch: () => {
      snapshot = snapshot.with(snapshot.revision, []);
    },
  };
}

interface Codec extends ItemCodec {
  fromStored(row: StoredSetting): SettingItem;
  /** What is there when nothing is stored for a key: a known setting's default. */
  absent(key: string): SettingItem | undefined;
  snapshotOf(state: StoredState): Snapshot;
}

/** Stores a value as it is, escaped where it looks like a sealed one. */
const unsealed = createSealer([]);

/** Between rows, whose secrets are sealed, and items. */
function createCodec({ definitions, sealer, fingerprint }: EngineDeps): Codec {
  const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));
  const fromStored = (row: StoredSetting): SettingItem => {
    const definition = definitionOf.get(row.key);
    const value = sealer.open(row.key, row.value);
    return itemFromStored(value === row.value ? row : { ...row, value }, definition);
  };
  const absent = (key: string): SettingItem | undefined => {
    const definition = definitionOf.get(key);
    return definition && knownItem(definition);
  };
  return {
    fromStored,
    absent,
    hash: fingerprint,
    toStored: (item) => {
      const row = itemToStored(item);
      const { seal } = item.secret ? sealer : unsealed;
      return { ...row, value: seal(item.key, item.value) };
    },
    snapshotOf: ({ revision, settings }) => {
      const stored = new Map(settings.map((row) => [row.key, row]));
      const known = definitions.map(({ key }) => {
        const row = stored.get(key);
        return row === undefined ? absent(key) : fromStored(row);
      });
      const others = settings.filter((row) => !definitionOf.has(row.key)).map(fromStored);
      const items = [...known, ...others].filter((item) => item !== undefined);
      return createSnapshot(revision, items);
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

function explainStoreFailure(error: unknown): never {
  if (!(error instanceof StoreError)) throw error;
  const code = error.failure === "full" ? Code.ResourceExhausted : Code.Unavailable;
  throw new ServiceError(code, `nothing was saved: ${error.message}`, { cause: error });
}
