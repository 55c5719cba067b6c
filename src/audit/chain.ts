import { hash } from "node:crypto";
import type { StoredAuditRow } from "../database/schema.ts";
import type { AuditEntry, AuditPosition, AuditRetention, AuditRow } from "./store.ts";

/** Maximum number of characters of all subjects together, and of each other text. */
const MAX_SUBJECT = 4_096;
const MAX_TEXT = 512;

/** Row without number and hashes. */
export type UnchainedRow = Omit<StoredAuditRow, "seq" | "prev" | "hash">;

/** Converts an entry to a row without number and hashes. */
export function toUnchained({ subjects, detail, ...entry }: AuditEntry): UnchainedRow {
  return {
    time: entry.time,
    actor: clean(entry.actor),
    token_id: clean(entry.tokenId),
    transport: clean(entry.transport),
    method: clean(entry.method),
    peer: clean(entry.peer),
    request_id: clean(entry.requestId),
    outcome: clean(entry.outcome),
    subject: clean(firstLines(subjects), MAX_SUBJECT),
    detail: JSON.stringify(detail).toWellFormed(),
  };
}

/** SQLite allows values of another type in a column; damaged rows are read too. */
export function auditFromRow(row: StoredAuditRow): AuditRow {
  const subject = String(row.subject);
  return {
    seq: Number(row.seq),
    time: Number(row.time),
    actor: String(row.actor),
    tokenId: String(row.token_id),
    transport: String(row.transport),
    method: String(row.method),
    peer: String(row.peer),
    requestId: String(row.request_id),
    outcome: String(row.outcome),
    subjects: subject === "" ? [] : subject.split("\n"),
    detail: String(row.detail),
    prev: String(row.prev),
    hash: String(row.hash),
  };
}

/**
 * Canonical encoding of a row after `[seq,"prev",`: the rest of a JSON array by RFC 8785, whose
 * serialization is that of `JSON.stringify`.
 */
export function tailOf(row: UnchainedRow): string {
  const members = [
    row.time,
    row.actor,
    row.token_id,
    row.transport,
    row.method,
    row.peer,
    row.request_id,
    row.outcome,
    row.subject,
    row.detail,
  ];
  return JSON.stringify(members).slice(1);
}

/** SHA-256 of a row's canonical encoding in UTF-8, in hexadecimal. */
export function hashOf(seq: number, prev: string, tail: string): string {
  return hash("sha256", `[${seq},"${prev}",${tail}`, "hex");
}

/** Chains entries after a row. */
export function chain(head: AuditPosition, entries: readonly AuditEntry[]): StoredAuditRow[] {
  let last = head;
  return entries.map((entry) => {
    const row = rowAfter(last, entry);
    last = row;
    return row;
  });
}

/** Chains an entry after a row. */
export function rowAfter({ seq: before, hash: prev }: AuditPosition, entry: AuditEntry) {
  const unchained = toUnchained(entry);
  const seq = before + 1;
  return { ...unchained, seq, prev, hash: hashOf(seq, prev, tailOf(unchained)) };
}

/** The hash that a row should have. */
export function expectedHash({ subjects, seq, prev, ...row }: AuditRow): string {
  const { tokenId: token_id, requestId: request_id, transport, ...rest } = row;
  const subject = subjects.join("\n");
  return hashOf(seq, prev, tailOf({ ...rest, token_id, request_id, transport, subject }));
}

/** The first names that fit in MAX_SUBJECT characters, one per line. */
function firstLines(names: readonly string[]): string {
  const [first] = names;
  if (names.length === 1 && first !== undefined) return first.slice(0, MAX_SUBJECT);
  let text = "";
  for (const name of names) {
    const next = text === "" ? name : `${text}\n${name}`;
    if (next.length > MAX_SUBJECT) return text === "" ? name.slice(0, MAX_SUBJECT) : text;
    text = next;
  }
  return text;
}

/** Truncates a text and removes NUL characters and lone surrogates, which not every database can store. */
function clean(text: string, most = MAX_TEXT): string {
  if (text.length <= most && !text.includes("\0") && text.isWellFormed()) return text;
  return text.slice(0, most).replaceAll("\0", "").toWellFormed();
}

/** Verifies the audit from its oldest row on. The methods return the first problem found. */
export interface Verifier {
  /** Verifies the next row. @returns a problem that names the row, without a full stop. */
  add(row: AuditRow): string | undefined;
  /** Called after the last row. @returns a problem of the whole audit. */
  end(): string | undefined;
  /** The last verified row, or the one before the oldest. */
  readonly last: AuditPosition;
}

/**
 * @param floor the row before the oldest kept row.
 * @param checkpoint an earlier position, stored elsewhere.
 */
export function createVerifier(floor: AuditPosition, checkpoint?: AuditPosition): Verifier {
  let last = floor;
  let checked = checkpoint === undefined;
  /** Newest deleted row, according to the last row about deletions. */
  let named = 0;
  const check = ({ seq, hash }: AuditPosition): string | undefined => {
    if (checkpoint?.seq !== seq) return undefined;
    checked = true;
    return hash === checkpoint.hash
      ? undefined
      : `row ${seq} differs from the checkpoint: rows up to it were rewritten`;
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
      if (!isTime(row.time))
        return `row ${seq} was changed after it was written: its time is not a whole number of milliseconds`;
      if (row.hash !== expectedHash(row))
        return `row ${seq} was changed after it was written: its hash does not match`;
      if (row.prev !== last.hash)
        return last.seq === floor.seq
          ? `row ${seq} does not follow the deleted rows: row ${last.seq} had another hash`
          : `row ${last.seq} was changed after it was written: row ${seq} follows a row with another hash`;
      last = { seq, hash: row.hash };
      const forgotten = forgottenIn(row);
      if (forgotten !== undefined) {
        named = forgotten.floor;
        if (forgotten.found !== forgotten.named)
          return `row ${forgotten.named + 1} was removed before row ${seq} was written: rows up to ${forgotten.found} were missing, and no row records their deletion`;
      }
      return check(last);
    },
    end: () => {
      if (first !== undefined) return first;
      if (!(floor.seq <= named))
        return `row ${named + 1} is missing: the audit begins with row ${floor.seq + 1}, and no row records the deletion of the rows before it`;
      if (checked || checkpoint === undefined) return undefined;
      return checkpoint.seq > last.seq
        ? `row ${last.seq + 1} is missing: the audit ends with row ${last.seq}, and the checkpoint is of row ${checkpoint.seq}`
        : `the checkpoint is of row ${checkpoint.seq}, which has been deleted; rows from ${floor.seq + 1} on are consistent: use a newer checkpoint`;
    },
  };
}

/** Milliseconds from 1970 UTC to the end of the year 9999, the last that a Timestamp has. */
const LAST_TIME = 253_402_300_799_999;

/** Reports whether a number is a valid time: whole milliseconds since 1970 UTC. */
export function isTime(time: number): boolean {
  return Number.isSafeInteger(time) && time >= 0 && time <= LAST_TIME;
}

/** Deletion that an audit row records, as row numbers; 0: none. */
interface Forgotten {
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
    time,
    actor,
    tokenId: "",
    transport: "",
    method,
    peer: "",
    requestId: "",
    outcome: "OK",
    subjects: [subject],
    detail: { ...forgotten },
  };
}

/** @returns undefined for other rows. */
function forgottenIn(
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
