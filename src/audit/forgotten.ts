import type { AuditEntry, AuditRetention, AuditRow } from "./store.ts";

/** Rows that an audit row reports as forgotten: numbers of rows; 0: none. */
export interface Forgotten {
  /** The newest forgotten row until then, as the row of the forgetting before says. */
  readonly named: number;
  /** The newest row that was missing until then. Another one than `named`: rows were taken away. */
  readonly found: number;
  /** The newest forgotten row from then on. */
  readonly floor: number;
}

/** The columns of such a row. Tokens that were forgotten have another subject, with a slash. */
export const FORGOTTEN = { actor: "mooring", method: "forget", subject: "audit" } as const;

/** @param time milliseconds since 1970 UTC. */
export function forgottenEntry(time: number, forgotten: Forgotten): AuditEntry {
  const { actor, method, subject } = FORGOTTEN;
  return {
    ...{ time, actor, tokenId: "", door: "", method, peer: "", requestId: "", outcome: "OK" },
    ...{ subjects: [subject], detail: { ...forgotten } },
  };
}

/** @returns undefined for a row about something else. */
export function forgottenIn(
  row: Pick<AuditRow, "actor" | "method" | "subjects" | "detail">,
): Forgotten | undefined {
  const { actor, method, subjects, detail } = row;
  const isOne = actor === FORGOTTEN.actor && method === FORGOTTEN.method;
  return isOne && subjects.join("\n") === FORGOTTEN.subject ? readForgotten(detail) : undefined;
}

/** @param detail JSON; what it lacks is NaN, which equals no number. */
export function readForgotten(detail: string): Forgotten {
  try {
    const { named, found, floor } = JSON.parse(detail) as Record<string, unknown>;
    return { named: Number(named), found: Number(found), floor: Number(floor) };
  } catch {
    return { named: Number.NaN, found: Number.NaN, floor: Number.NaN };
  }
}

/** Rows that stay: the newest one, and the one about what was forgotten before it. */
const LAST = 2;
/** Rows that are forgotten together at least, and how long a row waits for that, in milliseconds. */
const FEW = 100;
const LONGEST_WAIT = 3_600_000;

/**
 * Chooses the oldest rows that are forgotten now. Each forgetting adds a row, so that rows go together:
 * by number once there are more than are kept, and then a hundredth of them more; by age once there are
 * 100, or one that was due an hour ago.
 *
 * @param oldest the oldest rows, without the newest one, in their order.
 * @param newest number of the newest row.
 * @param floor number of the newest forgotten row.
 * @returns how many of the oldest rows go. Always a range from the oldest on: the chain has no holes.
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
