import { isObject } from "../is-object.ts";
import { message } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import { type Accepts, isArchive, readArchive } from "./document.ts";
import { checkPagePassphrase, decryptEntry, decryptText } from "./page-encryption.ts";
import type { GivenEntries, ServerRows } from "./part.ts";
import type { PassphraseCipher } from "./passphrase.ts";
import { unreadable } from "./readable.ts";

/** Members of a part that are needed to read a source. */
export interface ReadablePart {
  readonly name: string;
  readonly server?: ServerRows | undefined;
}

/** Reading of a source. */
export interface SourceOptions {
  /** Passphrase of the archive or backup; empty: none. */
  readonly passphrase: string;
  readonly parts: readonly ReadablePart[];
  /** Called with the parts of the source before anything is decrypted. Default: all are read. */
  readonly accepts?: Accepts;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

/** Maximum length of the member `encrypted`, which has a constant content. */
const MAX_PROOF = 1_000;

/** Content of a source, by the names of the parts. */
export interface Source {
  /** Database of an archive whose entries with secrets cannot be edited. Absent: unknown. */
  readonly boundTo?: { readonly databaseId: string; readonly isWhole: boolean } | undefined;
  readonly given: ReadonlyMap<string, GivenEntries>;
  /** Lists of the source that no part reads, with their lengths. */
  readonly unread: readonly { readonly name: string; readonly count: number }[];
}

/**
 * Reads an import of any known format: an archive; a backup of the web page of AList or OpenList, plain
 * or encrypted; the reply of a list call of such a server, or its bare list, also one that
 * `sqlite3 -json` writes.
 *
 * @throws INVALID_ARGUMENT with the problem, without values; the error of `accepts`.
 */
export async function readSource(
  value: unknown,
  options: SourceOptions,
  cipher: PassphraseCipher,
): Promise<Source> {
  const { parts, accepts = () => true } = options;
  if (isArchive(value)) {
    const { origin, sections, unknown, isSealed } = await readArchive(value, options, cipher);
    const { databaseId, digest } = origin;
    const isWhole = digest !== undefined;
    return {
      boundTo: isSealed || isWhole ? { databaseId, isWhole } : undefined,
      given: new Map([...sections].map(([name, entries]) => [name, { entries }])),
      unread: unknown,
    };
  }
  if (isPageBackup(value, parts)) return readPageBackup(value, options);
  const rows = rowsOf(value);
  if (rows?.length === 0) throw unreadable(message("DOCUMENT_EMPTY"));
  const part = rows && parts.find(({ server }) => rows.some((row) => isRowOf(server, row)));
  if (rows === undefined || part === undefined) throw unreadable(message("BACKUP_UNKNOWN"));
  accepts(part.name, rows.length);
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
  { passphrase, parts, accepts = () => true, signal }: SourceOptions,
): Promise<Source> {
  const { encrypted = "" } = file;
  if (typeof encrypted !== "string" || encrypted.length > MAX_PROOF)
    throw unreadable(message("BACKUP_ENCRYPTED_INVALID"));
  const lists = partsOf(file, parts);
  const accepted = new Set(
    lists.filter(({ name, list }) => accepts(name, list.length)).map(({ name }) => name),
  );
  if (encrypted !== "") checkPagePassphrase(encrypted, passphrase);
  const given = new Map<string, GivenEntries>();
  for (const { name, server, list } of lists) {
    const isDecrypted = encrypted !== "" && accepted.has(name);
    const rows = isDecrypted ? await decryptRows(list, server, { passphrase, signal }) : list;
    given.set(name, { rows });
  }
  const read = new Set(["encrypted", ...lists.map(({ server }) => server.member)]);
  const unread = Object.entries(file).flatMap(([member, list]) =>
    read.has(member) ? [] : countOf(member, list),
  );
  const isEmpty = [...given.values()].every(({ rows }) => rows?.length === 0);
  if (isEmpty && unread.length === 0) throw unreadable(message("DOCUMENT_EMPTY"));
  return { given, unread };
}

/** Lists of a backup that parts read. Clients that have the file send numbers in place of others. */
function partsOf(file: Readonly<Record<string, unknown>>, parts: readonly ReadablePart[]) {
  return parts.flatMap(({ name, server }) => {
    const list = server && file[server.member];
    if (server === undefined || list === undefined || typeof list === "number") return [];
    if (!Array.isArray(list))
      throw unreadable(message("BACKUP_NOT_ARRAY", { name: server.member }));
    return [{ name, server, list: list as readonly unknown[] }];
  });
}

/** Maximum number of members of an encrypted row. Servers write about 30. */
const MAX_MEMBERS = 200;

/** Each value takes up to 100 µs: other work runs in between. */
async function decryptRows(
  rows: readonly unknown[],
  { member, decrypt = decryptEntry }: ServerRows,
  { passphrase, signal }: Pick<SourceOptions, "passphrase" | "signal">,
): Promise<unknown[]> {
  const ticks = createTicks(signal);
  const open = async (text: string): Promise<string | undefined> => {
    if (ticks.isDue()) await ticks.next();
    return decryptText(text, passphrase);
  };
  const decrypted: unknown[] = [];
  for (const [at, row] of rows.entries()) {
    const path = `${member}[${at}]`;
    const count = isObject(row) ? Object.keys(row).length : 0;
    if (count > MAX_MEMBERS)
      throw unreadable(message("BACKUP_ROW_TOO_WIDE", { path, count, most: MAX_MEMBERS }));
    decrypted.push(isObject(row) ? await decrypt(row, open, path) : row);
  }
  return decrypted;
}

/** Limit of the name of a list in a reply. */
const MAX_NAME = 64;

/** @param list the list, or its length: clients that have the file send only that. */
function countOf(member: string, list: unknown): { name: string; count: number }[] {
  const count = Array.isArray(list) ? list.length : list;
  if (typeof count !== "number" || count <= 0) return [];
  return [{ name: member.slice(0, MAX_NAME).toWellFormed(), count }];
}
