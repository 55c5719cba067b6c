import { expectedHash } from "./audit-chain.ts";
import type { AuditPosition, AuditRow } from "./audit-store.ts";

/** Goes through the audit from its oldest row on. Each method gives the first thing that does not fit. */
export interface Verifier {
  /** The next row. @returns what is wrong, a sentence without a full stop that names the row. */
  add(row: AuditRow): string | undefined;
  /** After the last row. */
  end(): string | undefined;
  /** The row that was added last, or the one before the oldest. */
  readonly last: AuditPosition;
}

/**
 * @param floor the row before the oldest one that is kept.
 * @param checkpoint where the audit has stood once: it was kept elsewhere.
 */
export function createVerifier(floor: AuditPosition, checkpoint?: AuditPosition): Verifier {
  let last = floor;
  let checked = checkpoint === undefined;
  const check = ({ seq, hash }: AuditPosition): string | undefined => {
    if (checkpoint?.seq !== seq) return undefined;
    checked = true;
    return hash === checkpoint.hash
      ? undefined
      : `row ${seq} is another one than the checkpoint's: rows up to it were written anew`;
  };
  const first = check(floor);
  return {
    get last() {
      return last;
    },
    add: (row) => {
      const { seq } = row;
      const next = last.seq + 1;
      if (first !== undefined) return first;
      if (seq !== next) return `row ${next} is missing: after row ${last.seq} comes row ${seq}`;
      if (row.hash !== expectedHash(row))
        return `row ${seq} is not as it was written: its hash does not fit`;
      if (row.prev !== last.hash)
        return last.seq === floor.seq
          ? `row ${seq} does not follow what was forgotten before it: row ${last.seq} had another hash`
          : `row ${last.seq} is not as it was written: row ${seq} was made after another one`;
      last = { seq, hash: row.hash };
      return check(last);
    },
    end: () => {
      if (first !== undefined) return first;
      if (checked || checkpoint === undefined) return undefined;
      return checkpoint.seq > last.seq
        ? `row ${last.seq + 1} is missing: the audit ends with row ${last.seq}, and the checkpoint is of row ${checkpoint.seq}`
        : `the checkpoint is of row ${checkpoint.seq}, which is not kept any more; rows from ${floor.seq + 1} on fit each other: take a newer checkpoint`;
    },
  };
}
