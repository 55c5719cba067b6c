import { Code } from "@connectrpc/connect";
import { StoreError } from "../../store/error.ts";
import type {
  RevisionOrigin,
  SettingStore,
  StoredDelta,
  StoredState,
} from "../../store/setting-store.ts";
import { ServiceError } from "../error.ts";
import type { SettingDefinition } from "./definition.ts";
import type { CommittedChange } from "./draft.ts";
import { itemFromStored, knownItem, type SettingItem } from "./item.ts";
import { createSnapshot, type Snapshot } from "./snapshot.ts";
import { type Changed, createWriter, type Decide } from "./writer.ts";

export interface EngineDeps {
  readonly store: SettingStore;
  readonly definitions: readonly SettingDefinition[];
  readonly now: () => number;
  readonly hashSecret: (value: string) => string;
  /** Told when the database cannot be read; reads go on from memory. */
  readonly onReadFailure: (error: StoreError) => void;
}

/** Called after a commit is visible: once for each commit of this process, in revision order. */
export type CommitListener = (commits: readonly CommittedChange[]) => void;

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
  change<T>(origin: RevisionOrigin, decide: Decide<T>): Promise<Changed<T>>;
  /** @returns a function that ends the subscription. */
  onCommit(listener: CommitListener): () => void;
}

/** Loads the settings and starts the engine on them. */
export async function createEngine(deps: EngineDeps): Promise<Engine> {
  const { store, definitions } = deps;
  const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));
  const listeners = new Set<CommitListener>();

  const fullSnapshot = (state: StoredState): Snapshot => {
    const stored = new Map(state.settings.map((row) => [row.key, row]));
    const known = definitions.map((definition) => {
      const row = stored.get(definition.key);
      return knownItem(definition, row?.value, row?.revision);
    });
    const others = state.settings
      .filter((row) => !definitionOf.has(row.key))
      .map((row) => itemFromStored(row, undefined));
    return createSnapshot(state.revision, [...known, ...others]);
  };

  let snapshot = fullSnapshot(await store.load());

  const catchUp = (news: StoredDelta | StoredState): Snapshot => {
    // A call that read earlier may finish later.
    if (news.revision < snapshot.revision && "changed" in news) return snapshot;
    snapshot = "changed" in news ? applyDelta(snapshot, news) : fullSnapshot(news);
    return snapshot;
  };
  const applyDelta = (before: Snapshot, { revision, changed, deleted }: StoredDelta): Snapshot =>
    before.with(revision, [
      ...changed.map((row) => [row.key, itemFromStored(row, definitionOf.get(row.key))] as const),
      ...deleted.map((key) => [key, restoreDefault(key)] as const),
    ]);
  const restoreDefault = (key: string): SettingItem | undefined => {
    const definition = definitionOf.get(key);
    return definition && knownItem(definition);
  };

  const refresh = async (): Promise<Snapshot> => {
    try {
      return catchUp((await store.delta(snapshot.revision)) ?? (await store.load()));
    } catch (error) {
      // Reads are served from memory while the database is out of reach.
      if (error instanceof StoreError) deps.onReadFailure(error);
      else throw error;
      return snapshot;
    }
  };

  const writer = createWriter({
    store,
    now: deps.now,
    snapshot: () => snapshot,
    catchUp,
    hashSecret: deps.hashSecret,
    publish: (commits) => {
      for (const { revision, changes } of commits)
        snapshot = snapshot.with(
          revision,
          changes.map(({ key, after }) => [key, after] as const),
        );
      for (const listener of listeners) listener(commits);
    },
  });

  return {
    snapshot: () => snapshot,
    fresh: () => {
      try {
        return store.changedElsewhere() ? refresh() : snapshot;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        deps.onReadFailure(error);
        return snapshot;
      }
    },
    change: (origin, decide) => writer.change(origin, decide).catch(explainStoreFailure),
    onCommit: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function explainStoreFailure(error: unknown): never {
  if (!(error instanceof StoreError)) throw error;
  const code = error.failure === "full" ? Code.ResourceExhausted : Code.Unavailable;
  throw new ServiceError(code, `nothing was saved: ${error.message}`, { cause: error });
}
