import { Document, isMap, type Pair, Scalar } from "yaml";
import { identifierOf, secretMembersOf } from "../archive/identifier.ts";
import { isObject } from "../is-object.ts";
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

/**
 * Writes an archive as a file that declares its records: the members of each entry, with references in
 * place of secrets. Members with the value that an absent one has are left out.
 */
export function writeStateFile(
  archive: Readonly<Record<string, unknown>>,
  options: WriteOptions,
): { readonly text: string; readonly secrets: readonly WrittenSecret[] } {
  const secrets = new Map<string, WrittenSecret>();
  const document = new Document({ version: 1 });
  document.commentBefore = options.comment;
  const { counts = {} } = archive;
  for (const part of Object.keys(isObject(counts) ? counts : {})) {
    const list = archive[part];
    const entries = (Array.isArray(list) ? list : []).filter(isObject);
    const section: Record<string, unknown> = {};
    for (const entry of entries) {
      const written = writeEntry(part, entry, options, secrets);
      if (written !== undefined) setOwn(section, written.name, written.value);
    }
    if (Object.keys(section).length === 0) continue;
    document.set(part, document.createNode(section));
    if (!isMap(document.contents)) continue;
    const { key } = document.contents.items.at(-1) as Pair;
    const title = key instanceof Scalar ? key : new Scalar(key);
    title.spaceBefore = true;
    const comment = COMMENTS[part];
    if (comment !== undefined) title.commentBefore = comment;
    (document.contents.items.at(-1) as Pair).key = title;
  }
  return { text: document.toString({ lineWidth: 0 }), secrets: [...secrets.values()] };
}

function writeEntry(
  part: string,
  entry: Readonly<Record<string, unknown>>,
  { known, all, withDefault, pathOf }: WriteOptions,
  written: Map<string, WrittenSecret>,
): { readonly name: string; readonly value: unknown } | undefined {
  const { [identifierOf(part)]: id, ...given } = entry;
  const name = String(id);
  const initial = part === "settings" ? known.get(name)?.default : undefined;
  const {
    secrets = {},
    omitted = [],
    ...content
  } = initial !== undefined && withDefault?.has(name) === true
    ? withOpenValue(given, initial)
    : given;
  const members = escaped(content) as Record<string, unknown>;
  const values = isObject(secrets) ? secrets : {};
  const rest: Record<string, string> = {};
  if (initial !== undefined && !all && (content["value"] ?? values["value"]) === initial)
    return undefined;
  for (const secret of [...Object.keys(values), ...(omitted as readonly string[])]) {
    const value = Object.hasOwn(values, secret) ? String(values[secret]) : undefined;
    const reference = refer({ part, name, secret, value }, written, pathOf);
    const isPlaced = place(members, secret, reference, part);
    if (!isPlaced) setOwn(rest, secret, reference);
  }
  if (part === "settings") {
    const setting = known.get(name);
    const { value } = members;
    // A setting of one family of servers is described, for services without it.
    const isPlain = setting !== undefined && (setting.isCommon || setting.shape === "json");
    return { name, value: isPlain ? value : members };
  }
  const shown = Object.entries(members).filter(([, value]) => !isNothing(value));
  const more = Object.keys(rest).length > 0 ? { secrets: rest } : {};
  return { name, value: { ...Object.fromEntries(shown), ...more } };
}

/** Entry of a secret setting that has its default, which is no secret. */
function withOpenValue(
  { secrets: _secrets, omitted: _omitted, ...content }: Readonly<Record<string, unknown>>,
  value: string,
): Readonly<Record<string, unknown>> {
  return { ...content, value };
}

/** Reference to the file with a secret. Line breaks at its end are part of the reference's text. */
function refer(
  {
    part,
    name,
    secret,
    value,
  }: {
    readonly part: string;
    readonly name: string;
    readonly secret: string;
    readonly value: string | undefined;
  },
  written: Map<string, WrittenSecret>,
  pathOf: (file: string) => string,
): string {
  const words = [part, name, ...(secret === "value" ? [] : secret.split("/"))];
  const base = words.join(".").replace(/[^\p{L}\p{N}._-]/gu, "_");
  let file = base;
  for (let at = 2; written.has(file); at += 1) file = `${base}-${at}`;
  const [end = ""] = value === undefined ? [] : (/(?:\r?\n)*$/.exec(value) ?? []);
  written.set(file, { file, value: value?.slice(0, value.length - end.length) });
  return `\${file:${pathOf(file)}}${end}`;
}

/** Puts a secret such as `config/password` among the members. @returns whether it has a place there. */
function place(
  members: Record<string, unknown>,
  secret: string,
  reference: string,
  part: string,
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
function isNothing(value: unknown): boolean {
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
