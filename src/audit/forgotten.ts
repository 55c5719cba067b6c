import type { AuditEntry, AuditRetention, AuditRow } from "./store.ts";

/** Deletion that an audit row records, as row numbers; 0: none. */
export interface Forgotten {
  /** Newest deleted row before this deletion, according to the previous row of this kind. */
  readonly named: number;
  /** Newest missing row before this deletion. Differs from `named` if rows were removed. */
  readonly found: number;
  /** Newest deleted row after this deletion. */
  readonly floor: number;
}

/** Columns of such a row. Rows about deleted tokens have a subject with a slash. */
export const FORGOTTEN = { actor: "mooring", method: "forget", subject: "audit" } as const;

/** @param time milliseconds since 1970 UTC. */
export function forgottenEntry(time: number, forgotten: Forgotten): AuditEntry {
  const { actor, method, subject } = FORGOTTEN;
  return {
    ...{ time, actor, tokenId: "", transport: "", method, peer: "", requestId: "", outcome: "OK" },
    ...{ subjects: [subject], detail: { ...forgotten } },
  };
}

/** @returns undefined for other rows. */
export function forgottenIn(
  row: Pick<AuditRow, "actor" | "method" | "subjects" | "detail">,
): Forgotten | undefined {
  const { actor, method, subjects, detail } = row;
  const isOne = actor === FORGOTTEN.actor && method === FORGOTTEN.method;
  return isOne && subjects.join("\n") === FORGOTTEN.subject ? readForgotten(detail) : undefined;
}

/** @param detail JSON; absent members become NaN, which equals no number. */
export function readForgotten(detail: string): Forgotten {
  try {
    const { named, found, floor } = JSON.parse(detail) as Record<string, unknown>;
    return { named: Number(named), found: Number(found), floor: Number(floor) };
  } catch {
    return { named: Number.NaN, found: Number.NaN, floor: Number.NaN };
  }
}

/** Rows that always stay: the newest one and the last one about deletions. */
const LAST = 2;
/** Minimum number of rows deleted together, and the maximum wait for it, in milliseconds. */
const FEW = 100;
const LONGEST_WAIT = 3_600_000;

/**
 * Chooses the oldest rows to delete now. Each deletion adds a row, so deletions are batched: by number
 * when the limit is exceeded, then a hundredth of the limit (100 at most) in addition; by age when 100
 * rows are due, or one has been due for an hour.
 *
 * @param oldest the oldest rows in order, without the newest row.
 * @param newest number of the newest row.
 * @param floor number of the newest deleted row.
 * @returns the number of rows to delete, from the oldest on, so that the chain has no gaps.
 */
export function countForgotten(
  oldest: readonly { readonly seq: number; readonly time: number }[],
  { newest, floor }: { readonly newest: number; readonly floor: number },
  { count, notBefore }: AuditRetention,
): number {
  const kept = newest - floor;
  if (kept <= LAST) return 0;
  const most = Math.max(count, LAST);
  const isFull = kept > most;
  const more = Math.ceil(Math.min(most, FEW * FEW) / FEW);
  const last = isFull ? newest - most + more : 0;
  const stays = oldest.findIndex(({ seq, time }) => seq > last && time >= notBefore);
  const due = stays < 0 ? oldest.length : stays;
  const isLate = (oldest[0]?.time ?? notBefore) < notBefore - LONGEST_WAIT;
  return isFull || isLate || due >= FEW ? due : 0;
}
