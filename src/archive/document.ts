// The document of an archive: one JSON object that people can read.

import { createHash } from "node:crypto";
import { isObject } from "../is-object.ts";
import { rejectViolations, type Violation } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { ownValue, setOwn } from "../own-value.ts";
import { sortedJson } from "../sorted-json.ts";
import { createTicks, LONGEST_OF_ARCHIVE, mapInTicks } from "../ticks.ts";
import { identifierOf, nameOfRecord } from "./identifier.ts";
import type { ArchiveEntry, SecretValue } from "./part.ts";
import type { PassphraseCipher, SealedText } from "./passphrase.ts";
import { LIMITS, parseBackupJson, unreadable } from "./readable.ts";

/** Name of the format, and the version that is written. */
const FORMAT = "mooring-archive";
const VERSION = 1;

/** Treatment of secrets in an archive. */
export type SecretsMode =
  /** Secrets are named, without their values. */
  | { readonly mode: "omit" }
  /** Sealed: reading the secrets requires the passphrase of at least 8 characters. */
  | { readonly mode: "seal"; readonly passphrase: string }
  /** In the clear. */
  | { readonly mode: "clear" };

const FORMS = { omit: "omitted", seal: "sealed", clear: "clear" } as const;

/** Origin of an archive. */
export interface Origin {
  readonly format: typeof FORMAT;
  readonly version: number;
  /** Time of writing, ISO 8601 in UTC. */
  readonly created: string;
  /** Version of the program that wrote it. */
  readonly mooring: string;
  /** Random id of the database; empty: unknown. */
  readonly databaseId: string;
  /** Revision of the ledger. */
  readonly revision: number;
  /** SHA-256 of all entries, in hexadecimal. Absent: entries may be edited. Backups have it. */
  readonly digest?: string;
}

/** Part or entries that an export leaves out. */
export interface LeftOut {
  readonly part: string;
  /** Scope that the caller lacks for the part. */
  readonly scope?: string;
  /** Names of entries. */
  readonly names?: readonly string[];
  /** Reason, such as that a server does not answer. Absent: values of one server only. */
  readonly reason?: string;
}

/** Entries of a part. */
export interface Section {
  readonly part: string;
  readonly entries: readonly ArchiveEntry[];
}

/** The document, which is plain JSON. Each part is a member with a list of its entries. */
export interface ArchiveDocument extends Origin {
  readonly secrets: (typeof FORMS)[keyof typeof FORMS];
  /** Number of entries of each part. */
  readonly counts: Readonly<Record<string, number>>;
  readonly leftOut: readonly LeftOut[];
  readonly sealed?: SealedText;
  readonly [part: string]: unknown;
}

/** Members of the document that are no parts. */
const OWN_MEMBERS = new Set([
  "format",
  "version",
  "created",
  "mooring",
  "databaseId",
  "revision",
  "digest",
  "secrets",
  "counts",
  "leftOut",
  "sealed",
]);

/** Values of the secrets by part, entry and name. */
type Sealed = Record<string, Record<string, Record<string, SecretValue>>>;

/**
 * @param archive.hasDigest adds a digest of all entries, which the sealed secrets authenticate.
 * @throws INVALID_ARGUMENT when the passphrase is too short.
 */
export async function writeArchive(
  {
    origin: { time, ...origin },
    sections,
    leftOut,
    hasDigest = false,
  }: {
    readonly origin: Pick<Origin, "mooring" | "databaseId" | "revision"> & {
      /** Milliseconds since 1970 UTC. */
      readonly time: number;
    };
    readonly sections: readonly Section[];
    readonly leftOut: readonly LeftOut[];
    readonly hasDigest?: boolean;
  },
  secrets: SecretsMode,
  cipher: PassphraseCipher,
): Promise<ArchiveDocument> {
  const ticks = createTicks(undefined, LONGEST_OF_ARCHIVE);
  const parts: Record<string, unknown[]> = {};
  for (const { part, entries } of sections) {
    const written: unknown[] = [];
    parts[part] = written;
    for (const entry of entries) {
      if (ticks.isDue()) await ticks.next();
      written.push(entryToJson(entry, identifierOf(part), secrets.mode));
    }
  }
  const header: Origin = {
    format: FORMAT,
    version: VERSION,
    created: new Date(time).toISOString(),
    ...origin,
    ...(hasDigest && { digest: await digestOf(parts) }),
  };
  return {
    ...header,
    secrets: FORMS[secrets.mode],
    counts: Object.fromEntries(sections.map(({ part, entries }) => [part, entries.length])),
    leftOut,
    ...parts,
    ...(secrets.mode === "seal" && {
      sealed: await sealSecrets(header, sections, secrets.passphrase, cipher),
    }),
  };
}

async function sealSecrets(
  origin: Origin,
  sections: readonly Section[],
  passphrase: string,
  cipher: PassphraseCipher,
): Promise<SealedText> {
  const ticks = createTicks(undefined, LONGEST_OF_ARCHIVE);
  const bound = createBinding(origin);
  const sealed: Sealed = {};
  for (const { part, entries } of sections.toSorted((a, b) => (a.part < b.part ? -1 : 1))) {
    const own: Sealed[string] = {};
    sealed[part] = own;
    for (const entry of entries) {
      if (ticks.isDue()) await ticks.next();
      const names = Object.keys(entry.secrets);
      if (names.length === 0) continue;
      setOwn(own, entry.name, entry.secrets);
      bound.add(part, entry, names);
    }
  }
  return cipher.seal(passphrase, JSON.stringify(sealed), bound.text());
}

/** Digest of all entries of all parts, whatever the order of the parts and the layout of the file. */
async function digestOf(parts: Readonly<Record<string, readonly unknown[]>>): Promise<string> {
  const ticks = createTicks(undefined, LONGEST_OF_ARCHIVE);
  const digest = createHash("sha256");
  for (const part of Object.keys(parts).sort())
    for (const entry of parts[part] ?? []) {
      if (ticks.isDue()) await ticks.next();
      digest.update(sortedJson([part, entry]));
    }
  return digest.digest("hex");
}

/** @throws INVALID_ARGUMENT when entries are not those that were written. */
async function checkDigest(
  { digest }: Origin,
  document: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (digest === undefined) return;
  const parts = Object.fromEntries(
    partsOf(document).map((name) => [name, document[name] as readonly unknown[]]),
  );
  if ((await digestOf(parts)) !== digest) throw unreadable(message("BACKUP_DAMAGED"));
}

function entryToJson(
  { name, content, secrets, missing }: ArchiveEntry,
  identifier: string,
  mode: SecretsMode["mode"],
): Record<string, unknown> {
  const names = Object.keys(secrets);
  const omitted = mode === "omit" ? [...names, ...missing] : missing;
  return {
    [identifier]: name,
    ...content,
    ...(mode === "clear" && names.length > 0 && { secrets }),
    ...(mode === "seal" && names.length > 0 && { sealed: names }),
    ...(omitted.length > 0 && { omitted }),
  };
}

/**
 * Authenticated data of the sealed secrets: the origin of the archive, and the whole entries that have
 * them, with the names of missing secrets. A secret cannot be moved to another entry, and the address
 * to which it is sent cannot be changed. Entries without secrets can be edited.
 */
function createBinding(origin: Origin) {
  const digest = createHash("sha256");
  return {
    add: (
      part: string,
      { name, content, missing }: ArchiveEntry,
      sealed: readonly string[],
    ): void => {
      digest.update(sortedJson([part, name, content, sealed, missing]));
    },
    text: (): string => sortedJson([origin, digest.digest("hex")]),
  };
}

export function isArchive(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isObject(value)) return false;
  return value["format"] === FORMAT;
}

/**
 * Reports whether a part is imported, by its name and the number of its entries.
 *
 * @throws ServiceError for a part that is refused.
 */
export type Accepts = (part: string, count: number) => boolean;

/** Content of an archive. */
export interface ReadArchive {
  readonly origin: Origin;
  readonly sections: ReadonlyMap<string, readonly ArchiveEntry[]>;
  /** Whether secrets were sealed and were opened, so that their entries are as they were written. */
  readonly isSealed: boolean;
  /** Members that this program does not know, with the number of their entries. */
  readonly unknown: readonly { readonly name: string; readonly count: number }[];
}

/**
 * Reads an archive. Without a passphrase, sealed secrets are missing. The last of equal names counts.
 *
 * @param options.parts the known parts, with the members that name their entries.
 * @param options.accepts called before secrets are opened; they stay closed if it accepts no part.
 *   Default: all.
 * @throws INVALID_ARGUMENT when the archive has a newer version or an invalid form, or the passphrase
 *   is wrong; the message never quotes a value.
 */
export async function readArchive(
  document: Readonly<Record<string, unknown>>,
  {
    passphrase,
    parts,
    accepts = () => true,
    signal,
  }: {
    readonly passphrase: string;
    readonly parts: readonly { readonly name: string }[];
    readonly accepts?: Accepts;
    readonly signal?: AbortSignal | undefined;
  },
  cipher: PassphraseCipher,
): Promise<ReadArchive> {
  const origin = readOrigin(document);
  const { sealed } = document;
  const ticks = createTicks(signal, LONGEST_OF_ARCHIVE);
  let isOpened = false;
  const violations: Violation[] = [];
  const read = new Map<string, readonly ReadEntry[]>();
  for (const name of partsOf(document)) {
    const list = document[name];
    if (!Array.isArray(list)) throw unreadable(message("BACKUP_NOT_ARRAY", { name }));
    const isKnown = parts.some((each) => each.name === name);
    if (isKnown && accepts(name, list.length)) isOpened = true;
    const entries: ReadEntry[] = [];
    for (const [at, given] of list.entries()) {
      if (ticks.isDue()) await ticks.next();
      const report = (problem: Text): void => {
        const field = `${name}[${at}]`;
        if (violations.length < LIMITS.violations)
          violations.push({ field, description: message("IN_BACKUP", { name: field, problem }) });
      };
      const form = { identifier: identifierOf(name), isSealed: sealed !== undefined };
      const entry = readEntry(given, form, report);
      if (entry !== undefined) entries.push(entry);
    }
    read.set(name, entries);
  }
  rejectViolations(violations);
  await checkDigest(origin, document);
  const secrets =
    sealed === undefined || passphrase === "" || !isOpened
      ? undefined
      : await openSecrets({ origin, read, signal }, readSealed(sealed), passphrase, cipher);
  const known = new Set(parts.map(({ name }) => name));
  const sections = new Map<string, readonly ArchiveEntry[]>();
  const unknown: ReadArchive["unknown"][number][] = [];
  for (const [name, entries] of read) {
    if (known.has(name)) {
      const opened = secrets && (ownValue(secrets, name) ?? {});
      sections.set(name, await entriesOf(name, await withSecrets(entries, opened)));
    } else if (entries.length > 0) {
      unknown.push({ name: name.slice(0, MAX_NAME).toWellFormed(), count: entries.length });
    }
  }
  return { origin, isSealed: secrets !== undefined, sections, unknown };
}

/** Limit of the name of an unknown part in a reply. */
const MAX_NAME = 64;

/** Names of the parts, sorted as for the binding of the sealed secrets. */
function partsOf(document: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(document)
    .filter((name) => !OWN_MEMBERS.has(name))
    .sort();
}

/** Entry with the names of its sealed secrets. */
interface ReadEntry {
  readonly entry: ArchiveEntry;
  readonly sealed: readonly string[];
}

function readEntry(
  given: unknown,
  { identifier, isSealed }: { readonly identifier: string; readonly isSealed: boolean },
  report: (problem: Text) => void,
): ReadEntry | undefined {
  if (!isObject(given)) {
    report(message("ENTRY_NOT_OBJECT"));
    return undefined;
  }
  const { [identifier]: name, secrets = {}, sealed = [], omitted = [], ...content } = given;
  if (typeof name !== "string" || name === "") {
    report(message("BACKUP_ENTRY_NAMELESS", { identifier }));
    return undefined;
  }
  if (!isObject(secrets) || !Object.values(secrets).every(isSecretValue)) {
    report(message("BACKUP_ENTRY_SECRETS"));
    return undefined;
  }
  // They are not bound to the sealed ones, and could change where those are sent.
  if (isSealed && Object.keys(secrets).length > 0) {
    report(message("BACKUP_ENTRY_CLEAR_SECRETS"));
    return undefined;
  }
  if (!isNames(sealed) || !isNames(omitted)) {
    report(message("BACKUP_ENTRY_NAMES"));
    return undefined;
  }
  const entry = {
    name,
    content,
    secrets: secrets as ArchiveEntry["secrets"],
    missing: omitted,
    isSealed: false,
  };
  return { entry, sealed };
}

function isSecretValue(value: unknown): value is SecretValue {
  return ["string", "number", "boolean"].includes(typeof value);
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function withSecrets(
  entries: readonly ReadEntry[],
  opened: Sealed[string] | undefined,
): Promise<ArchiveEntry[]> {
  return mapInTicks(entries, ({ entry, sealed }) => {
    if (sealed.length === 0) return entry;
    const values = ownValue(opened, entry.name);
    const missing = [
      ...sealed.filter((name) => ownValue(values, name) === undefined),
      ...entry.missing,
    ];
    return {
      ...entry,
      secrets: { ...entry.secrets, ...values },
      missing,
      isSealed: opened === undefined,
    };
  });
}

/** Entries by the names of their records, of which a source has the last one. */
function entriesOf(part: string, entries: readonly ArchiveEntry[]): Promise<ArchiveEntry[]> {
  const last = new Map(entries.map((entry) => [entry.name, entry]));
  return mapInTicks([...last.values()], (entry) => ({
    ...entry,
    name: nameOfRecord(part, entry.name),
  }));
}

async function openSecrets(
  {
    origin,
    read,
    signal,
  }: {
    readonly origin: Origin;
    readonly read: ReadonlyMap<string, readonly ReadEntry[]>;
    readonly signal: AbortSignal | undefined;
  },
  sealed: SealedText,
  passphrase: string,
  cipher: PassphraseCipher,
): Promise<Sealed> {
  const ticks = createTicks(signal, LONGEST_OF_ARCHIVE);
  const bound = createBinding(origin);
  for (const [part, entries] of read)
    for (const { entry, sealed: names } of entries) {
      if (ticks.isDue()) await ticks.next();
      if (names.length > 0) bound.add(part, entry, names);
    }
  const text = await cipher.open(passphrase, sealed, bound.text());
  const opened = await parseBackupJson(text, signal);
  // Only a caller who knows the passphrase can write it: its form is that of `writeArchive`.
  return opened as Sealed;
}

function readOrigin(document: Readonly<Record<string, unknown>>): Origin {
  const { version, created = "", mooring = "", databaseId = "", revision = 0, digest } = document;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1)
    throw unreadable(message("BACKUP_VERSION_INVALID"));
  if (version > VERSION)
    throw unreadable(message("BACKUP_VERSION_NEWER", { version, known: VERSION }));
  if (![created, mooring, databaseId].every((text) => typeof text === "string"))
    throw unreadable(message("BACKUP_ORIGIN_INVALID"));
  if (!Number.isSafeInteger(revision)) throw unreadable(message("BACKUP_REVISION_INVALID"));
  const origin = { format: FORMAT, version, created, mooring, databaseId, revision };
  return (digest === undefined ? origin : { ...origin, digest }) as Origin;
}

function readSealed(given: unknown): SealedText {
  if (!isObject(given)) throw unreadable(message("BACKUP_SECRETS_INVALID"));
  const { cipher, kdf, n, r, p, salt, nonce, sealed } = given;
  const texts = [cipher, kdf, salt, nonce, sealed].every((member) => typeof member === "string");
  if (!texts || ![n, r, p].every((member) => typeof member === "number"))
    throw unreadable(message("BACKUP_SECRETS_INCOMPLETE"));
  return { cipher, kdf, n, r, p, salt, nonce, sealed } as SealedText;
}
