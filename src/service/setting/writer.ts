import type {
  RevisionCommit,
  RevisionOrigin,
  SettingStore,
  SettingTransaction,
  StoredChange,
  StoredDelta,
  StoredState,
  StoredWrite,
} from "../../store/setting-store.ts";
import { type Base, type CommittedChange, createDraft, type Draft } from "./draft.ts";
import { itemToStored, type SettingItem } from "./item.ts";
import type { Snapshot } from "./snapshot.ts";

/** How many waiting changes share one commit at most. */
const GROUP = 256;

/** Decides, on a draft, what a change does. It may throw: then this change alone is refused. */
export type Decide<T> = (draft: Draft) => T;

export interface WriterDeps {
  readonly store: SettingStore;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly snapshot: () => Snapshot;
  /** Takes in what other processes committed. */
  readonly catchUp: (delta: StoredDelta | StoredState) => Snapshot;
  /** Called after the commit, before any change of it is acknowledged. */
  readonly publish: (commits: readonly CommittedChange[]) => void;
  /** A keyed hash that stands for a secret value in the history. */
  readonly hashSecret: (value: string) => string;
}

export interface Writer {
  /**
   * Resolves once the change is on disk and visible; a change that changes nothing commits nothing.
   *
   * @throws what decide throws, or a StoreError.
   */
  change<T>(origin: RevisionOrigin, decide: Decide<T>): Promise<Changed<T>>;
}

/** What a change came to. */
export interface Changed<T> {
  readonly result: T;
  /** The revision after it; the one before it when nothing changed. */
  readonly revision: number;
}

interface Job {
  readonly origin: RevisionOrigin;
  readonly decide: Decide<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome =
  | { readonly job: Job; readonly ok: true; readonly result: unknown }
  | { readonly job: Job; readonly ok: false; readonly error: unknown };

/**
 * Puts changes that wait at the same time into one transaction (group commit). Each is decided on
 * top of the ones before it and has a revision of its own; one that is refused takes none of its
 * neighbours along.
 */
export function createWriter(deps: WriterDeps): Writer {
  const waiting: Job[] = [];
  let running = false;

  const drain = async (): Promise<void> => {
    running = true;
    // One turn later, what arrived in this one shares the commit.
    await Promise.resolve();
    while (waiting.length > 0) await commit(waiting.splice(0, GROUP));
    running = false;
  };

  const commit = async (jobs: readonly Job[]): Promise<void> => {
    let outcomes: readonly Outcome[] = [];
    let commits: readonly CommittedChange[] = [];
    try {
      await deps.store.transact(async (transaction) => {
        const base = await latest(deps, transaction);
        const time = deps.now();
        [outcomes, commits] = decideAll(base, jobs, time);
        if (commits.length > 0) await transaction.write(toRows(commits, deps.hashSecret));
      });
      if (commits.length > 0) deps.publish(commits);
    } catch (error) {
      for (const job of jobs) {
        const outcome = outcomes.find((candidate) => candidate.job === job);
        job.reject(outcome?.ok === false ? outcome.error : error);
      }
      return;
    }
    for (const outcome of outcomes)
      if (outcome.ok) outcome.job.resolve(outcome.result);
      else outcome.job.reject(outcome.error);
  };

  return {
    change: <T>(origin: RevisionOrigin, decide: Decide<T>) =>
      new Promise<Changed<T>>((resolve, reject) => {
        waiting.push({ origin, decide, resolve: resolve as (result: unknown) => void, reject });
        if (!running) void drain();
      }),
  };
}

/** The state that a transaction starts from: ours, unless another process was faster. */
async function latest(deps: WriterDeps, transaction: SettingTransaction): Promise<Snapshot> {
  const ours = deps.snapshot();
  if ((await transaction.revision()) === ours.revision) return ours;
  return deps.catchUp((await transaction.delta(ours.revision)) ?? (await transaction.load()));
}

function decideAll(
  snapshot: Snapshot,
  jobs: readonly Job[],
  time: number,
): [Outcome[], CommittedChange[]] {
  const outcomes: Outcome[] = [];
  const commits: CommittedChange[] = [];
  const decided = new Map<string, SettingItem | undefined>();
  let { revision, lastPosition } = snapshot;
  const get = (key: string) => (decided.has(key) ? decided.get(key) : snapshot.get(key));
  for (const job of jobs) {
    const base: Base = { revision, lastPosition, get };
    const draft = createDraft(base);
    try {
      const result = job.decide(draft);
      const staged = draft.changes();
      if (staged.length > 0) revision += 1;
      lastPosition = draft.lastPosition;
      outcomes.push({ job, ok: true, result: { result, revision } });
      if (staged.length === 0) continue;
      const changes = staged.map(([key, item]) => ({
        key,
        before: get(key),
        after: item && Object.freeze({ ...item, revision }),
      }));
      commits.push({ revision, time, origin: job.origin, changes });
      for (const { key, after } of changes) decided.set(key, after);
    } catch (error) {
      outcomes.push({ job, ok: false, error });
    }
  }
  return [outcomes, commits];
}

function toRows(
  commits: readonly CommittedChange[],
  hashSecret: (value: string) => string,
): StoredWrite {
  const last = new Map<string, { item: SettingItem | undefined; revision: number }>();
  for (const { revision, changes } of commits)
    for (const { key, after } of changes) last.set(key, { item: after, revision });
  const upserts = [];
  const deletes = [];
  for (const [key, { item, revision }] of last)
    if (item === undefined) deletes.push(key);
    else upserts.push(itemToStored(item, revision));
  const revisions = commits.map(
    ({ revision, time, origin, changes }): RevisionCommit => ({
      ...origin,
      revision,
      time,
      changes: changes.map((change) => toStoredChange(change, hashSecret)),
    }),
  );
  return { revisions, upserts, deletes };
}

function toStoredChange(
  { key, before, after }: CommittedChange["changes"][number],
  hashSecret: (value: string) => string,
): StoredChange {
  const value = (item: SettingItem | undefined) =>
    item === undefined || item.secret ? null : item.value;
  const hash = (item: SettingItem | undefined) =>
    item?.secret === true ? hashSecret(item.value) : null;
  return {
    key,
    oldValue: value(before),
    newValue: value(after),
    oldHash: hash(before),
    newHash: hash(after),
    oldDefinition: definitionJson(before),
    newDefinition: definitionJson(after),
  };
}

function definitionJson(item: SettingItem | undefined): string | null {
  if (item === undefined || item.definition !== undefined) return null;
  const { type, options, help, group, flag } = item;
  return JSON.stringify({ type, options, help, group, flag });
}
