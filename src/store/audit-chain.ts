import { hash } from "node:crypto";
import type { StoredAuditRow } from "./audit-schema.ts";
import type { AuditEntry, AuditPosition, AuditRow } from "./audit-store.ts";

/** What stands for the row before the first one. */
export const START: AuditPosition = { seq: 0, hash: "0".repeat(64) };

/** Characters of the names of what a row is about, and of each other text, at most. */
const MAX_SUBJECT = 4_096;
const MAX_TEXT = 512;

/** A row without its place in the chain. */
export type UnchainedRow = Omit<StoredAuditRow, "seq" | "prev" | "hash">;

/** What is written of an entry. */
export function toUnchained({ subjects, detail, ...entry }: AuditEntry): UnchainedRow {
  return {
    time: entry.time,
    actor: clean(entry.actor),
    token_id: clean(entry.tokenId),
    door: clean(entry.door),
    method: clean(entry.method),
    peer: clean(entry.peer),
    request_id: clean(entry.requestId),
    outcome: clean(entry.outcome),
    subject: clean(firstLines(subjects), MAX_SUBJECT),
    detail: JSON.stringify(detail).toWellFormed(),
  };
}

export function auditFromRow(row: StoredAuditRow): AuditRow {
  return {
    seq: Number(row.seq),
    time: Number(row.time),
    actor: row.actor,
    tokenId: row.token_id,
    door: row.door,
    method: row.method,
    peer: row.peer,
    requestId: row.request_id,
    outcome: row.outcome,
    subjects: row.subject === "" ? [] : row.subject.split("\n"),
    detail: row.detail,
    prev: row.prev,
    hash: row.hash,
  };
}

/**
 * The canonical encoding of a row but for its place, `[seq,"prev",`, which stands before it: the rest
 * of a JSON array in the form of RFC 8785, which is that of ECMAScript.
 */
export function tailOf(row: UnchainedRow): string {
  const members = [
    row.time,
    row.actor,
    row.token_id,
    row.door,
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

/** The rows of entries that follow a row. */
export function chain(head: AuditPosition, entries: readonly AuditEntry[]): StoredAuditRow[] {
  let { seq, hash: prev } = head;
  return entries.map((entry) => {
    const unchained = toUnchained(entry);
    seq += 1;
    const row = { ...unchained, seq, prev, hash: hashOf(seq, prev, tailOf(unchained)) };
    prev = row.hash;
    return row;
  });
}

/** The hash that a row should have. */
export function expectedHash({ subjects, seq, prev, ...row }: AuditRow): string {
  const { tokenId: token_id, requestId: request_id, ...rest } = row;
  return hashOf(seq, prev, tailOf({ ...rest, token_id, request_id, subject: subjects.join("\n") }));
}

/** As many whole names as fit. */
function firstLines(names: readonly string[]): string {
  let text = "";
  for (const name of names) {
    const next = text === "" ? name : `${text}\n${name}`;
    if (next.length > MAX_SUBJECT) return text === "" ? name.slice(0, MAX_SUBJECT) : text;
    text = next;
  }
  return text;
}

/** A text that every database keeps as it is. */
function clean(text: string, most = MAX_TEXT): string {
  return text.slice(0, most).replaceAll("\0", "").toWellFormed();
}
