import { actorOf, doneEntry } from "../audit/entry.ts";
import type { JobSlots } from "../database/job-slot.ts";
import { pauseFor } from "../pause.ts";
import { type Periodic, startPeriodic } from "../periodic.ts";
import type { AccessRegistry } from "./registry.ts";
import type { AccessStore, AccessTransaction, StoredToken } from "./store.ts";

/** Tokens deleted in one transaction: few, so that saves are not delayed. */
const STEP = 50;
/** Pause between two transactions, in milliseconds. */
const PAUSE = 50;
/** Name of the job. */
const DELETION_JOB = "ended tokens";
/** Origin for the audit. */
const ORIGIN = { actor: "mooring", transport: "", method: "forget", peer: "", requestId: "" };

export interface DeletionDeps {
  readonly store: Pick<AccessStore, "countEnded" | "transact">;
  readonly registry: Pick<AccessRegistry, "reread">;
  readonly tryAcquireJobSlot: JobSlots["tryAcquireJobSlot"];
  /** Retention of an ended token, in milliseconds of running time. */
  readonly age: number;
  /** Interval between checks, in milliseconds. */
  readonly interval: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

/**
 * Deletes tokens that ended long ago, in the background, in one process at a time. Age is counted in
 * runs of this job, not by the clock: downtime and clock jumps do not age a token, so that deletion
 * may be late and is never early.
 */
export function startDeletion(deps: DeletionDeps): Periodic {
  const { store, registry, tryAcquireJobSlot, age, interval, now, onError } = deps;
  const deleteEnded = async (signal: AbortSignal): Promise<void> => {
    const counted = await store.countEnded(now(), interval);
    let deleted = 0;
    do {
      deleted = await store.transact((transaction) =>
        deleteSome(transaction, counted - age, now()),
      );
      if (deleted > 0) await registry.reread();
      if (deleted === STEP) await pauseFor(PAUSE, signal);
    } while (deleted === STEP && !signal.aborted);
  };
  const claim = () => tryAcquireJobSlot(DELETION_JOB, interval, now());
  return startPeriodic(deleteEnded, { interval, claim, onError });
}

/** @returns the number of deleted tokens. */
async function deleteSome(
  transaction: AccessTransaction,
  before: number,
  now: number,
): Promise<number> {
  const tokens = await transaction.endedBefore(before, STEP);
  if (tokens.length === 0) return 0;
  const audit = [];
  for (const token of tokens) {
    const principal = await transaction.principal(token.principalId);
    const subject = actorOf(principal?.name ?? "", token.id);
    audit.push(doneEntry(ORIGIN, now, [subject], endOf(token, principal?.disabledAt ?? null)));
  }
  await transaction.write({ forgotten: tokens.map(({ id }) => id), audit });
  return tokens.length;
}

/** Time and cause of a token's end: the earliest one. */
function endOf(
  { revokedAt, expiresAt, notAfter }: StoredToken,
  disabledAt: number | null,
): { readonly ended: string; readonly by: string } {
  const ends: readonly (readonly [by: string, time: number | null])[] = [
    ["revoked", revokedAt],
    ["expired", expiresAt],
    ["replaced", notAfter],
    ["principal disabled", disabledAt],
  ];
  const [by, time] = ends
    .flatMap(([how, at]) => (at === null ? [] : [[how, at] as const]))
    .reduce((first, other) => (other[1] < first[1] ? other : first));
  return { by, ended: new Date(time).toISOString() };
}
