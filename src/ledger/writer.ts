import { randomBytes } from "node:crypto";
import { setImmediate as afterIo } from "node:timers/promises";
import { failedPrecondition, invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createTicks, mapInTicks, type Ticks } from "../ticks.ts";
import type { Codec } from "./codec.ts";
import { type Replacement, toChange, toCommit, toWrite } from "./commit.ts";
import { type Base, createDraft, type Draft, StagedItems } from "./draft.ts";
import type { Amounts, Item, Kind, KindRules } from "./kind.ts";
import { checkTotals, type Limit, replaceIn } from "./limit.ts";
import type { Snapshot } from "./snapshot.ts";
import type {
  LedgerStore,
  LedgerTransaction,
  RevisionCommit,
  RevisionOrigin,
  StoredChange,
  StoredDelta,
  StoredState,
} from "./store.ts";

/** Maximum number of waiting changes in one commit. */
const GROUP = 256;
/** Minimum number of items of a large change. It ends its commit, so that its memory is released. */
const LARGE = 500;
/**
 * Text of a commit, in characters, after which it has no further change: its memory is released, and
 * PostgreSQL writes it with one statement, whose time is limited.
 */
const TEXT = 4 * 1024 * 1024;

/**
 * Applies a change to a draft. If it throws, only this change is rejected. Long work is divided
 * into event-loop ticks while the transaction stays open, so that no other change is committed in
 * between.
 */
export type Decide<T> = (draft: Draft) => T | Promise<T>;

/** Result of a change, or of its dry run. */
export interface Changed<T> {
  readonly result: T;
  /** Revision after the change; the previous one if nothing changed or for a dry run. */
  readonly revision: number;
  /** Commit in the history; undefined: nothing changed. */
  readonly commit: RevisionCommit | undefined;
}

/** Commit with its changed items. */
export interface Committed {
  readonly commit: RevisionCommit;
  readonly items: readonly Replacement[];
}

/** Rights of the caller of a change. */
export interface ChangeRights {
  /** Share of the space of all records that the caller may fill, from 0 to 1. */
  readonly share: number;
  /** @throws PERMISSION_DENIED. */
  requireWrite(replacement: Replacement): void;
}

/** Actor of a change and their rights. */
export interface ChangeOrigin<R extends ChangeRights = ChangeRights> extends RevisionOrigin {
  /** Undefined: all rights, for changes by the program itself. */
  readonly rights?: R;
  /** Share of the space, for a change without rights. Default: that of the rights, or all. */
  readonly share?: number;
}

export interface ChangeOptions {
  /** Whether to validate the change without committing it. */
  readonly dryRun?: boolean;
  /** Whether the program itself created the value, such as a new token, which has no size limit. */
  readonly isOwn?: boolean;
}

export interface WriterDeps {
  readonly store: LedgerStore;
  readonly codec: Codec;
  /** Bounds of all records together. */
  readonly limits: readonly Limit[];
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly snapshot: () => Snapshot;
  /** Applies commits of other processes. */
  readonly catchUp: (news: StoredDelta | StoredState) => Snapshot;
  /** Called after the commit, before any change of it is acknowledged. */
  readonly publish: (committed: readonly Committed[]) => void;
  /** Called after each transaction, with its duration in milliseconds. */
  readonly onTransaction: (duration: number) => void;
}

export interface Writer {
  /**
   * Resolves when the change is on disk and visible. A change without effect commits nothing.
   *
   * @throws errors of decide, or a StoreError.
   */
  change<T>(origin: ChangeOrigin, decide: Decide<T>, options?: ChangeOptions): Promise<Changed<T>>;
}

interface Job {
  readonly origin: ChangeOrigin;
  readonly decide: Decide<unknown>;
  readonly dryRun: boolean;
  readonly isOwn: boolean;
  readonly resolve: (changed: Changed<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** Settles a job, once it is certain whether the commit has succeeded. */
type Settle = () => void;

/**
 * Creates a writer with group commit: concurrently waiting changes share one transaction. Each
 * change is applied after the previous ones and has its own revision; a rejected change does not
 * affect the others.
 */
export function createWriter(deps: WriterDeps): Writer {
  const waiting: Job[] = [];
  let running = false;

  const drain = async (): Promise<void> => {
    running = true;
    while (waiting.length > 0) {
      await gather();
      await commit();
    }
    running = false;
  };

  /**
   * Waits for one tick of the event loop, and further ticks while each brings more changes: sixty
   * changes in one commit take a tenth of the time of sixty commits. A single change waits for one
   * idle tick.
   */
  const gather = async (): Promise<void> => {
    let before: number;
    do {
      before = waiting.length;
      await afterIo();
    } while (waiting.length > before && waiting.length < GROUP);
  };

  const commit = async (): Promise<void> => {
    const jobs = waiting.slice(0, GROUP);
    let decisions: Decisions;
    const begun = performance.now();
    try {
      decisions = await deps.store
        .transact(async (transaction) => {
          const made = await decide(transaction, jobs, deps);
          if (made.committed.length > 0)
            await transaction.write(await toWrite(made.committed, deps.codec));
          return made;
        })
        .finally(() => deps.onTransaction(performance.now() - begun));
      if (decisions.committed.length > 0) deps.publish(decisions.committed);
    } catch (error) {
      for (const job of waiting.splice(0, jobs.length)) job.reject(error);
      return;
    }
    const { settle } = decisions;
    waiting.splice(0, settle.length);
    for (const each of settle) each();
  };

  return {
    change: <T>(
      origin: ChangeOrigin,
      decide: Decide<T>,
      { dryRun = false, isOwn = false }: ChangeOptions = {},
    ) =>
      new Promise<Changed<T>>((done, reject) => {
        const resolve = done as (changed: Changed<unknown>) => void;
        waiting.push({ origin, decide, dryRun, isOwn, resolve, reject });
        if (!running) void drain();
      }),
  };
}

/**
 * State at the start of a transaction: that of this process, unless another process has committed.
 */
async function latest(deps: WriterDeps, transaction: LedgerTransaction): Promise<Snapshot> {
  const ours = deps.snapshot();
  if ((await transaction.revision()) === ours.revision) return ours;
  return deps.catchUp((await transaction.delta(ours.revision)) ?? (await transaction.load()));
}

interface Decisions {
  /** One function per applied job; the other jobs are left to the next commit. */
  readonly settle: readonly Settle[];
  readonly committed: readonly Committed[];
}

async function decide(
  transaction: LedgerTransaction,
  jobs: readonly Job[],
  deps: WriterDeps,
): Promise<Decisions> {
  const { codec } = deps;
  const snapshot = await latest(deps, transaction);
  const decisions = await decideAll(snapshot, jobs, deps, allowed);
  const hasSecret = (change: StoredChange): boolean =>
    change.oldHashes !== null || change.newHashes !== null;
  if (codec.seals || !decisions.committed.some(({ commit }) => commit.changes.some(hasSecret)))
    return decisions;
  // A process with a key may have started sealing in the meantime.
  const { records } = await transaction.load();
  if (!records.some(codec.isSealed)) return decisions;
  /** Rejects secrets in the clear if other processes have sealed theirs. */
  const refuseSecrets = (changes: readonly StoredChange[]): void => {
    // A deleted secret also leaves a hash in the history.
    const secret = changes.find(hasSecret);
    if (secret !== undefined)
      throw failedPrecondition(message("SEALING_KEY_MISSING", { key: codec.nameOf(secret) }));
  };
  return decideAll(snapshot, jobs, deps, refuseSecrets);
}

function allowed(): void {}

/**
 * Rejects text that PostgreSQL cannot store, which would fail the whole commit. Iterates over
 * names, because an array of all texts would be a tenth of a save's garbage.
 *
 * @throws INVALID_ARGUMENT.
 */
function refuseNulIn(texts: object, path: string): void {
  for (const member in texts) {
    const text: unknown = texts[member as keyof typeof texts];
    if (typeof text !== "string" || !text.includes("\0")) continue;
    const field = `${path}${member}`;
    throw invalid([
      {
        field,
        description: message("NAMED_PROBLEM", { name: field, problem: message("NUL_CHARACTER") }),
      },
    ]);
  }
}

/** State to which jobs of one commit are applied: a snapshot with the changes of earlier jobs. */
class Decided implements Base {
  revision: number;
  totals: Amounts;
  readonly #snapshot: Snapshot;
  readonly #staged = new StagedItems();
  readonly #lastPositions = new Map<string, number>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.revision = snapshot.revision;
    this.totals = snapshot.totals;
  }

  rules<I extends Item>(kind: Kind<I>): KindRules<I> {
    return this.#snapshot.rules(kind);
  }

  prefixes(): readonly string[] {
    return this.#snapshot.prefixes();
  }

  get<I extends Item>(kind: Kind<I>, key: string): I | undefined {
    return this.#staged.has(kind, key)
      ? this.#staged.get(kind, key)
      : this.#snapshot.get(kind, key);
  }

  keys(kind: Kind<Item>): Iterable<string> {
    return this.#staged.keysOver(kind, this.#snapshot.of(kind).keys());
  }

  lastPosition(kind: Kind<Item>): number {
    return this.#lastPositions.get(kind.name) ?? this.#snapshot.of(kind).lastPosition;
  }

  /** Items replaced by a draft on this state, as the next revision. */
  replacements(draft: Draft): Promise<Replacement[]> {
    return mapInTicks(draft.changes(), ({ kind, key, item }) => {
      const before = this.get(kind, key);
      const after = item && Object.freeze({ ...item, revision: this.revision + 1 });
      return { kind, key, before, after };
    });
  }

  /** Advances to the next revision. */
  apply(items: readonly Replacement[], totals: Amounts, draft: Draft): void {
    for (const { kind, key, after } of items) {
      this.#staged.set(kind, key, after);
      this.#lastPositions.set(kind.name, draft.lastPosition(kind));
    }
    this.revision += 1;
    this.totals = totals;
  }
}

/** Mark of a commit: 64 random bits. */
function newMark(): string {
  return randomBytes(8).toString("hex");
}

/** @param check throws to reject the changes of a job. */
async function decideAll(
  snapshot: Snapshot,
  jobs: readonly Job[],
  deps: WriterDeps,
  check: (changes: readonly StoredChange[]) => void,
): Promise<Decisions> {
  const settle: Settle[] = [];
  const committed: Committed[] = [];
  const state = new Decided(snapshot);
  const ticks = createTicks();
  let isLarge = false;
  let text = 0;
  for (const job of jobs) {
    try {
      const changed = await decideOne(job, { state, ticks, committed, check }, deps);
      settle.push(() => job.resolve(changed));
      const { changes = [] } = changed.commit ?? {};
      for (const { oldBody, newBody } of changes)
        text += (oldBody?.length ?? 0) + (newBody?.length ?? 0);
      isLarge = changes.length >= LARGE || text >= TEXT;
    } catch (error) {
      settle.push(() => job.reject(error));
    }
    if (isLarge) break;
  }
  return { settle, committed };
}

interface Deciding {
  readonly state: Decided;
  readonly ticks: Ticks;
  readonly committed: Committed[];
  /** Throws to reject the changes of a job. */
  readonly check: (changes: readonly StoredChange[]) => void;
}

/** Applies one job, and adds its changes to the state and to the list of commits. */
async function decideOne(
  job: Job,
  { state, ticks, committed, check }: Deciding,
  { codec, now, limits }: WriterDeps,
): Promise<Changed<unknown>> {
  const { origin } = job;
  const draft = createDraft(state);
  const deciding = job.decide(draft);
  const result = deciding instanceof Promise ? await deciding : deciding;
  const items = await state.replacements(draft);
  if (items.length === 0) return { result, revision: state.revision, commit: undefined };
  refuseNulIn(origin, "");
  let { totals } = state;
  const changes: StoredChange[] = [];
  // All changes pass this check, whichever call they come from.
  for (const item of items) {
    if (ticks.isDue()) await ticks.next();
    const { kind, key, before, after } = item;
    origin.rights?.requireWrite(item);
    if (after !== undefined) refuseNulIn(after, `${key}.`);
    totals = replaceIn(totals, state.rules(kind), before, after);
    changes.push(toChange(item, codec));
  }
  check(changes);
  const share = origin.share ?? origin.rights?.share ?? 1;
  if (!job.isOwn) checkTotals(state.totals, totals, limits, share);
  const mark = newMark();
  const commit = toCommit({ revision: state.revision + 1, time: now(), origin, mark }, changes);
  if (!job.dryRun) {
    committed.push({ commit, items });
    state.apply(items, totals, draft);
  }
  return { result, revision: state.revision, commit };
}
