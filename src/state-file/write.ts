import { Document, Scalar } from "yaml";
import { identifierOf, secretMembersOf } from "../archive/identifier.ts";
import { isObject } from "../is-object.ts";
import { toNfc } from "../nfc.ts";
import { setOwn } from "../own-value.ts";
import type { KnownSetting } from "./shapes.ts";

/** A secret of a written file, which refers to a file with its value. */
export interface WrittenSecret {
  /** Name of the file: letters, digits, dots, hyphens and underscores. */
  readonly file: string;
  /** Text of the file; undefined: the archive does not have the value. */
  readonly value: string | undefined;
}

export interface WriteOptions {
  /** Settings that the program defines. */
  readonly known: ReadonlyMap<string, KnownSetting>;
  /** Whether settings with their default are written too. */
  readonly all: boolean;
  /** Keys of settings that have their default: an archive without secrets omits even those. Default: none. */
  readonly withDefault?: ReadonlySet<string>;
  /** Path of a file with a secret, as the written file refers to it. */
  readonly pathOf: (file: string) => string;
  /** First lines of the file. */
  readonly comment: string;
}

/** Comment of each section in a written file. */
const COMMENTS: Readonly<Record<string, string>> = {
  sites: " Servers. A site in mode follow gets settings and mounts.",
  settings: " Settings whose value is not the default.",
  mounts: " Storages, and the sites that have them.",
  rules: " Rules of folders.",
  webhooks: " Targets of notifications.",
  principals: " Owners of tokens. The hash of a token is its secret.",
};

/** Entry of an archive without its name. */
type Entry = Readonly<Record<string, unknown>>;

/** Files of secrets by their names as `foldedName` returns them. */
type SecretFiles = Map<string, WrittenSecret>;

/**
 * Writes an archive as a file that declares its records: the members of each entry, with references in
 * place of secrets. Members with the value that an absent one has are left out.
 */
export function writeStateFile(
  archive: Readonly<Record<string, unknown>>,
  options: WriteOptions,
): { readonly text: string; readonly secrets: readonly WrittenSecret[] } {
  const files: SecretFiles = new Map();
  const document = new Document({ version: 1 });
  document.commentBefore = options.comment;
  // Only the parts of an archive have a count; its other members are no records.
  const { counts = {} } = archive;
  for (const part of Object.keys(isObject(counts) ? counts : {})) {
    const section = writeSection(part, archive[part], options, files);
    if (Object.keys(section).length === 0) continue;
    const title = new Scalar(part);
    title.spaceBefore = true;
    const comment = COMMENTS[part];
    if (comment !== undefined) title.commentBefore = comment;
    document.add(document.createPair(title, section));
  }
  return { text: document.toString({ lineWidth: 0 }), secrets: [...files.values()] };
}

/** Values of the entries of a part, by their names. */
function writeSection(
  part: string,
  entries: unknown,
  options: WriteOptions,
  files: SecretFiles,
): Record<string, unknown> {
  const section: Record<string, unknown> = {};
  for (const given of (Array.isArray(entries) ? entries : []).filter(isObject)) {
    const { [identifierOf(part)]: id, ...entry } = given;
    const name = String(id);
    const refer: Refer = (secret) => referTo({ part, name, ...secret }, files, options.pathOf);
    if (part !== "settings") setOwn(section, name, writeRecord(part, entry, refer));
    else if (!isLeftOut(name, entry, options))
      setOwn(section, name, writeSetting(name, entry, options, refer));
  }
  return section;
}

/** Reports whether a setting is left out because it has its default. */
function isLeftOut(name: string, entry: Entry, { known, all, withDefault }: WriteOptions): boolean {
  const initial = known.get(name)?.default;
  if (all || initial === undefined) return false;
  if (withDefault?.has(name) === true) return true;
  const { value } = entry;
  const secret = secretsOf(entry).find((each) => each.secret === "value");
  return (value ?? secret?.value) === initial;
}

function writeSetting(
  name: string,
  entry: Entry,
  { known, withDefault }: WriteOptions,
  refer: Refer,
): unknown {
  const setting = known.get(name);
  const { secrets: _secrets, omitted: _omitted, ...content } = entry;
  const members = escaped(content) as Record<string, unknown>;
  // The default of a secret setting is no secret.
  if (setting?.default !== undefined && withDefault?.has(name) === true)
    members["value"] = escaped(setting.default);
  else
    for (const secret of secretsOf(entry)) place(members, "settings", secret.secret, refer(secret));
  // A setting of one family of servers is described, for services without it.
  const isPlain = setting !== undefined && (setting.isCommon || setting.shape === "json");
  return isPlain ? members["value"] : members;
}

/** Members of a record other than a setting; secrets without a place among them are in `secrets`. */
function writeRecord(part: string, entry: Entry, refer: Refer): Record<string, unknown> {
  const { secrets: _secrets, omitted: _omitted, ...content } = entry;
  const members = escaped(content) as Record<string, unknown>;
  const rest: Record<string, string> = {};
  for (const secret of secretsOf(entry)) {
    const reference = refer(secret);
    const isPlaced = place(members, part, secret.secret, reference);
    if (!isPlaced) setOwn(rest, secret.secret, reference);
  }
  const shown = Object.entries(members).filter(([, value]) => !isLikeAbsent(value));
  const more = Object.keys(rest).length > 0 ? { secrets: rest } : {};
  return { ...Object.fromEntries(shown), ...more };
}

/** Secret of an entry, such as `config/password`. */
interface EntrySecret {
  readonly secret: string;
  /** Undefined: the archive does not have it. */
  readonly value: string | undefined;
}

function secretsOf({ secrets, omitted = [] }: Entry): readonly EntrySecret[] {
  const values = isObject(secrets) ? secrets : {};
  return [
    ...Object.entries(values).map(([secret, value]) => ({ secret, value: String(value) })),
    ...(omitted as readonly string[]).map((secret) => ({ secret, value: undefined })),
  ];
}

/** Returns a reference to a new file with a secret of an entry. */
type Refer = (secret: EntrySecret) => string;

/** Maximum size of a file's name in bytes: file systems have 255, and a number may follow. */
const MAX_NAME_BYTES = 240;

/** Reference to the file with a secret. Line breaks at its end are part of the reference's text. */
function referTo(
  {
    part,
    name,
    secret,
    value,
  }: EntrySecret & {
    readonly part: string;
    readonly name: string;
  },
  files: SecretFiles,
  pathOf: (file: string) => string,
): string {
  const words = [part, name, ...(secret === "value" ? [] : secret.split("/"))];
  const whole = words.join(".").replace(/[^\p{L}\p{N}._-]/gu, "_");
  const { read } = new TextEncoder().encodeInto(whole, new Uint8Array(MAX_NAME_BYTES));
  const base = whole.slice(0, read);
  let file = base;
  for (let at = 2; files.has(foldedName(file)); at += 1) file = `${base}-${at}`;
  const [end = ""] = value === undefined ? [] : (/(?:\r?\n)*$/.exec(value) ?? []);
  files.set(foldedName(file), { file, value: value?.slice(0, value.length - end.length) });
  return `\${file:${pathOf(file)}}${end}`;
}

/** Name that is equal for files that are one file on systems that ignore case or Unicode forms. */
function foldedName(file: string): string {
  return toNfc(file).toLowerCase();
}

/** Puts a secret such as `config/password` among the members. @returns whether it has a place there. */
function place(
  members: Record<string, unknown>,
  part: string,
  secret: string,
  reference: string,
): boolean {
  let at = members;
  let rest = secret;
  for (;;) {
    const cut = rest.indexOf("/");
    const inner = cut < 0 ? undefined : at[rest.slice(0, cut)];
    if (!isObject(inner)) break;
    at = inner as Record<string, unknown>;
    rest = rest.slice(cut + 1);
  }
  const isTop = at === members;
  const isInline = part === "settings" ? rest === "value" : secretMembersOf(part).includes(rest);
  if (isTop && !isInline) return false;
  setOwn(at, rest, reference);
  return true;
}

/** Reports whether an absent member has this value. */
function isLikeAbsent(value: unknown): boolean {
  if (value === false || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}

/** Texts whose `${` is no reference. */
function escaped(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("${", "$${");
  if (Array.isArray(value)) return value.map(escaped);
  if (!isObject(value)) return value;
  const members: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) setOwn(members, name, escaped(member));
  return members;
}
