import { isObject } from "../files/json-source.ts";
import { message } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import { isArchive, readArchive } from "./document.ts";
import { checkPagePassphrase, decryptEntry } from "./page-encryption.ts";
import type { GivenEntries, ServerRows } from "./part.ts";
import type { PassphraseCipher } from "./passphrase.ts";
import { unreadable } from "./readable.ts";

/** Members of a part that are needed to read a source. */
export interface ReadablePart {
  readonly name: string;
  readonly identifier?: string | undefined;
  readonly server?: ServerRows | undefined;
}

/** Content of a source, by the names of the parts. */
export interface Source {
  readonly given: ReadonlyMap<string, GivenEntries>;
  /** Lists of the source that no part reads, with their lengths. */
  readonly unread: readonly { readonly name: string; readonly count: number }[];
}

/**
 * Reads an import of any known format: an archive; a backup of the web page of AList or OpenList, plain
 * or encrypted; the reply of a list call of such a server, or its bare list, also one that
 * `sqlite3 -json` writes.
 *
 * @param passphrase of the archive or backup; empty: none.
 * @throws INVALID_ARGUMENT with the problem, without values.
 */
export async function readSource(
  value: unknown,
  passphrase: string,
  parts: readonly ReadablePart[],
  cipher: PassphraseCipher,
): Promise<Source> {
  if (isArchive(value)) {
    const known = parts.map(({ name, identifier = "name" }) => ({ name, identifier }));
    const { sections, unknown } = await readArchive(value, { passphrase, parts: known }, cipher);
    return {
      given: new Map([...sections].map(([name, entries]) => [name, { entries }])),
      unread: unknown,
    };
  }
  if (isPageBackup(value, parts)) return readPageBackup(value, passphrase, parts);
  const rows = rowsOf(value);
  if (rows?.length === 0) throw unreadable(message("DOCUMENT_EMPTY"));
  const part = rows && parts.find(({ server }) => rows.some((row) => isRowOf(server, row)));
  if (rows === undefined || part === undefined) throw unreadable(message("BACKUP_UNKNOWN"));
  return { given: new Map([[part.name, { rows }]]), unread: [] };
}

function isRowOf(server: ServerRows | undefined, row: unknown): boolean {
  return isObject(row) && server?.recognizes(row) === true;
}

/** Rows of a list, or of the reply of a list call (`data`, `content`). */
function rowsOf(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) return undefined;
  const { data, content } = value;
  return rowsOf(content ?? data);
}

function isPageBackup(
  value: unknown,
  parts: readonly ReadablePart[],
): value is Readonly<Record<string, unknown>> {
  return (
    isObject(value) &&
    !Object.hasOwn(value, "format") &&
    parts.some(({ server }) => server !== undefined && Object.hasOwn(value, server.member))
  );
}

async function readPageBackup(
  file: Readonly<Record<string, unknown>>,
  passphrase: string,
  parts: readonly ReadablePart[],
): Promise<Source> {
  const { encrypted = "" } = file;
  if (typeof encrypted !== "string") throw unreadable(message("BACKUP_ENCRYPTED_INVALID"));
  if (encrypted !== "") checkPagePassphrase(encrypted, passphrase);
  const given = new Map<string, GivenEntries>();
  const unread: { readonly name: string; readonly count: number }[] = [];
  for (const [member, list] of Object.entries(file)) {
    if (member === "encrypted") continue;
    const part = parts.find(({ server }) => server?.member === member);
    if (part?.server === undefined || typeof list === "number") {
      unread.push(...countOf(member, list));
      continue;
    }
    if (!Array.isArray(list)) throw unreadable(message("BACKUP_NOT_ARRAY", { name: member }));
    const rows = encrypted === "" ? list : await decryptRows(list, part.server, passphrase);
    given.set(part.name, { rows });
  }
  const isEmpty = [...given.values()].every(({ rows }) => rows?.length === 0);
  if (isEmpty && unread.length === 0) throw unreadable(message("DOCUMENT_EMPTY"));
  return { given, unread };
}

/** Each row takes up to 100 µs: other work runs in between. */
async function decryptRows(
  rows: readonly unknown[],
  { member, decrypt = decryptEntry }: ServerRows,
  passphrase: string,
): Promise<unknown[]> {
  const ticks = createTicks();
  const decrypted: unknown[] = [];
  for (const [at, row] of rows.entries()) {
    if (ticks.isDue()) await ticks.next();
    decrypted.push(isObject(row) ? decrypt(row, passphrase, `${member}[${at}]`) : row);
  }
  return decrypted;
}

/** Limit of the name of a list in a reply. */
const MAX_NAME = 64;

/** @param list the list, or its length: clients that have the file send only that. */
function countOf(member: string, list: unknown): { name: string; count: number }[] {
  const count = Array.isArray(list) ? list.length : list;
  if (typeof count !== "number" || count <= 0) return [];
  return [{ name: member.slice(0, MAX_NAME), count }];
}
