import { randomBytes, randomUUID } from "node:crypto";
import { definitionsOf } from "../../src/settings/definition-file.ts";

/** A row of a site's list, as the site sends it. */
export interface Row {
  key: string;
  value: string;
  help: string;
  type: string;
  options: string;
  group: number;
  flag: number;
  index: number;
}

/** Save behavior of a family of servers: all or nothing, or without the refused items. */
export type Manner = "openlist" | "alist";

/** Reply of a save in the site's API. */
export interface SaveResult {
  readonly code: number;
  readonly message: string;
}

export interface SettingsOfSite {
  readonly rows: Map<string, Row>;
  /** The search engine that is open; undefined: searching fails. */
  engine: string | undefined;
  /** Patterns that are masked in messages. */
  privacy: RegExp[];
  /** Keys whose saves are refused, with the message. */
  readonly refusals: Map<string, string>;
  save(body: unknown): Promise<SaveResult>;
  /** A row as the admin's list has it. */
  listed(row: Row): Row;
  defaults(): Row[];
  resetToken(): string;
  /** A start repairs the metadata of known keys and sets unknown keys to flag 3. */
  start(): void;
}

/** Defaults of earlier versions, and their replacements at a save. */
export const RETIRED: Readonly<Record<string, string>> = {
  logo: "https://retired.example/logo.svg",
  favicon: "https://retired.example/favicon.svg",
  audio_cover: "https://retired.example/cover.svg",
  ocr_api: "https://retired.example/ocr",
  customize_head: "<script>retired()</script>",
};

/** Keys that AList has and OpenList does not. */
const ALIST_ONLY: readonly Row[] = [
  row("allow_register", "false", "bool", 1, 0),
  row("thumbnail_size", "0", "number", 3, 0),
  row("max_devices", "0", "number", 4, 0),
  row("frp_server_addr", "", "string", 12, 1),
  row("frp_auth_token", "frp-secret", "string", 12, 1),
];

/**
 * Of AList from 3.51 on: ids of roles and their names. Accounts that people create get another one.
 */
const ROLES: ReadonlyMap<string, string> = new Map([
  ["1", "guest"],
  ["2", "admin"],
  ["3", "editor"],
  ["4", "reader"],
]);
const NO_DEFAULT_ROLE: ReadonlySet<string> = new Set(["guest", "admin"]);

function hasRoles(manner: Manner, version: string): boolean {
  const [, minor = "0"] = /^v3\.(\d+)/.exec(version) ?? [];
  return manner === "alist" && Number(minor) >= 51;
}

function row(key: string, value: string, type: string, group: number, flag: number): Row {
  return { key, value, help: "", type, options: "", group, flag, index: 0 };
}

/** @param lacks keys that this version does not have. */
export function createSettingsOfSite(
  manner: Manner,
  version: string,
  lacks: readonly string[] = [],
): SettingsOfSite {
  const makeToken = (): string =>
    `${manner}-${randomUUID()}${randomBytes(32).toString("hex").slice(0, 64)}`;
  const initial = new Map<string, Row>();
  for (const { key, default: value, type, options, group, flag, index } of definitionsOf(
    "openlist",
  ))
    initial.set(key, {
      key,
      value,
      // It has one message for every key.
      help: `about ${key}`,
      type,
      options,
      group,
      flag,
      index,
    });
  if (manner === "alist")
    for (const [at, added] of ALIST_ONLY.entries())
      initial.set(added.key, { ...added, index: initial.size + at });
  if (hasRoles(manner, version))
    initial.set("default_role", { ...row("default_role", "1", "select", 1, 0), index: 9 });
  for (const key of lacks) initial.delete(key);
  const own = {
    announcement: "### repo\nA living site.",
    privacy_regs: "(?:a|b)@example",
    share_summary_content: "shared by {{creator}}",
  };
  for (const [key, value] of Object.entries(own)) {
    const known = initial.get(key);
    if (known) known.value = value;
  }
  const rows = new Map<string, Row>();
  const site: SettingsOfSite = {
    rows,
    engine: "none",
    privacy: [],
    refusals: new Map(),
    listed: (each) => {
      if (each.key !== "default_role" || !initial.has(each.key)) return each;
      const options = [...ROLES.values()].filter((name) => !NO_DEFAULT_ROLE.has(name));
      const value = ROLES.get(each.value) ?? each.value;
      return { ...each, value, options: options.join(",") };
    },
    defaults: () =>
      [...initial.values()].map((each) => ({
        ...each,
        value: each.key === "token" ? makeToken() : each.value,
      })),
    resetToken: () => {
      const token = makeToken();
      rows.set("token", { ...row("token", token, "string", 0, 1), help: "" });
      return token;
    },
    start: () => {
      for (const [key, known] of initial) {
        const value = rows.get(key)?.value ?? (key === "token" ? makeToken() : known.value);
        rows.set(key, { ...known, value: key === "version" ? version : value });
      }
      for (const each of rows.values()) if (!initial.has(each.key)) each.flag = 3;
      const engine = rows.get("search_index")?.value ?? "none";
      site.engine = ENGINES.includes(engine) ? engine : "none";
      site.privacy = expressions(rows.get("privacy_regs")?.value ?? "");
    },
    save: (body) => save(site, manner, initial, body),
  };
  site.start();
  return site;
}

const ENGINES = ["none", "database", "database_non_full_text", "bleve"];

async function save(
  site: SettingsOfSite,
  manner: Manner,
  initial: ReadonlyMap<string, Row>,
  body: unknown,
): Promise<SaveResult> {
  const items = read(body);
  if (typeof items === "string") return { code: 400, message: items };
  if (items.length === 0)
    return { code: 500, message: "failed save setting: empty slice found\n\tgorm.go:12" };
  const errors: string[] = [];
  const stored: Row[] = [];
  for (const item of items) {
    if (RETIRED[item.key] !== undefined && item.value === RETIRED[item.key])
      item.value = initial.get(item.key)?.value ?? item.value;
    try {
      hook(site, item);
      stored.push(item);
    } catch (error) {
      const text = `failed to execute hook on ${item.key}: ${error instanceof Error ? error.message : ""}`;
      errors.push(`${text}\nstack.Save\n\t/build/internal/op/setting.go:161`);
      if (manner === "openlist") return failed(site, errors);
    }
  }
  for (const item of stored) site.rows.set(item.key, item);
  return errors.length === 0 ? { code: 200, message: "success" } : failed(site, errors);
}

function failed(site: SettingsOfSite, errors: readonly string[]): SaveResult {
  const message = site.privacy.reduce(
    (text, expression) => text.replace(expression, (found) => "*".repeat(found.length)),
    errors.join("\n"),
  );
  return { code: 500, message };
}

/** The site's decoding of a body; a text is the reason of a refusal. */
function read(body: unknown): Row[] | string {
  if (body === undefined || body === null) return [];
  if (!Array.isArray(body)) return "json: cannot unmarshal object into Go value";
  const items: Row[] = [];
  for (const [at, each] of body.entries()) {
    const input = (each ?? {}) as Record<string, unknown>;
    const text = (name: string) => input[name] ?? "";
    const number = (name: string) => input[name] ?? 0;
    for (const name of ["key", "value", "help", "type", "options"])
      if (typeof text(name) !== "string")
        return `json: cannot unmarshal number into Go struct field SettingItem.${name} of type string`;
    for (const name of ["group", "flag", "index"])
      if (typeof number(name) !== "number")
        return `json: cannot unmarshal string into Go struct field SettingItem.${name} of type int`;
    if (text("key") === "") return `[${at}]: Key: 'SettingItem.Key' Error:Field validation`;
    items.push({
      key: String(text("key")),
      value: String(text("value")),
      help: String(text("help")),
      type: String(text("type")),
      options: String(text("options")),
      group: Number(number("group")),
      flag: Number(number("flag")),
      index: Number(number("index")),
    });
  }
  return items;
}

/** Takes effect in memory at once, even if the rest of the save fails. */
function hook(site: SettingsOfSite, item: Row): void {
  const refusal = site.refusals.get(item.key);
  if (refusal !== undefined) throw new Error(refusal);
  switch (item.key) {
    case "privacy_regs":
      site.privacy = expressions(item.value);
      return;
    case "filename_char_mapping": {
      const map: unknown = JSON.parse(item.value);
      const texts = map !== null && typeof map === "object" ? Object.values(map) : [0];
      if (!texts.every((text) => typeof text === "string")) throw new Error("no map");
      return;
    }
    case "multipart_chunk_size": {
      const trimmed = item.value.trim();
      if (!/^\d+$/.test(trimmed) || Number(trimmed) < 1)
        throw new Error(
          `multipart chunk size must be a positive integer (MB), got "${item.value}"`,
        );
      item.value = trimmed;
      return;
    }
    case "search_index":
      // The old engine is closed first: a refused change leaves none.
      site.engine = undefined;
      if (!ENGINES.includes(item.value)) throw new Error(`not support index: ${item.value}`);
      site.engine = item.value;
      return;
    case "default_role": {
      const [id] = [...ROLES].find(([, name]) => name === item.value) ?? [];
      if (id === undefined) throw new Error(`role ${item.value} not found: record not found`);
      if (NO_DEFAULT_ROLE.has(item.value)) throw new Error(`cannot set ${item.value} as default`);
      item.value = id;
      return;
    }
  }
}

/** Lines of RE2, which has neither look-around nor back-references. */
function expressions(text: string): RegExp[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      if (/\(\?[=!<]|\\\d/.test(line))
        throw new Error(`error parsing regexp: invalid or unsupported Perl syntax: ${line}`);
      // RE2 has flags at the beginning.
      const [flags = ""] = /^\(\?i\)/.exec(line) ?? [];
      return new RegExp(line.slice(flags.length), flags === "" ? "g" : "gi");
    });
}

/** Rows of the list of settings, or of some groups by the query of the URL. */
export function rowsOf({ rows, listed }: SettingsOfSite, url = "/"): Row[] {
  const query = new URL(url, "http://site").searchParams;
  const groups = (query.get("groups") || query.get("group") || "").split(",").filter(Boolean);
  const all = [...rows.values()].map(listed);
  if (groups.length === 0) return all;
  return all.filter((row) => groups.includes(String(row.group))).sort((a, b) => a.index - b.index);
}
