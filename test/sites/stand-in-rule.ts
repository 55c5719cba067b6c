import { posix } from "node:path";
import type { Route } from "./stand-in-account.ts";
import { envelope, json } from "./stand-in-reply.ts";
import type { Manner } from "./stand-in-setting.ts";

/** Folder rule as a server stores and sends it. */
export interface RuleRow {
  id: number;
  path: string;
  password: string;
  p_sub: boolean;
  write: boolean;
  w_sub: boolean;
  hide: string;
  h_sub: boolean;
  readme: string;
  r_sub: boolean;
  header: string;
  header_sub: boolean;
  /** OpenList only, as the next three. */
  read_users?: number[] | null;
  read_users_sub?: boolean;
  write_users?: number[] | null;
  write_users_sub?: boolean;
  /** Member of a later version. */
  [member: string]: unknown;
}

/** Folder rules of a site. */
export interface RulesOfSite {
  readonly rows: Map<number, RuleRow>;
  /** Members that this version has in addition: it stores and sends them. */
  readonly later: string[];
  /** Bodies and queries of calls that change something, in order, by their last part. */
  readonly calls: { readonly call: string; readonly body: Record<string, unknown> }[];
  /**
   * Rule of each path for a visitor who asks all the time: the server clears its cache before it
   * stores a rule, so that this visitor gets the former one until the next change.
   */
  readonly cached: Map<string, RuleRow | undefined>;
  /** Awaited before a change is stored, and before its reply. */
  hold: ((stage: "received" | "stored") => unknown) | undefined;
  /** Stores a rule without a call. */
  put(rule: Partial<RuleRow> & Pick<RuleRow, "path">): RuleRow;
  at(path: string): RuleRow | undefined;
}

const FLAGS = ["p_sub", "write", "w_sub", "h_sub", "r_sub", "header_sub"] as const;
const TEXTS = ["password", "hide", "readme", "header"] as const;
const USER_FLAGS = ["read_users_sub", "write_users_sub"] as const;
const USERS = ["read_users", "write_users"] as const;

export function createRulesOfSite(manner: Manner): RulesOfSite {
  const rows = new Map<number, RuleRow>();
  const rules: RulesOfSite = {
    rows,
    later: [],
    calls: [],
    cached: new Map(),
    hold: undefined,
    at: (path) => [...rows.values()].find((row) => row.path === path),
    put: (rule) => {
      const before = rules.at(rule.path);
      const id = before?.id ?? Math.max(0, ...rows.keys()) + 1;
      const row = rowOf({ ...before, ...rule }, id, manner, rules.later);
      rows.set(id, row);
      return row;
    },
  };
  return rules;
}

/** Row of a body: a member that is left out becomes empty, and unknown ones are ignored. */
function rowOf(
  body: Readonly<Record<string, unknown>>,
  id: number,
  manner: Manner,
  later: readonly string[],
): RuleRow {
  const entries: [string, unknown][] = [
    ...TEXTS.map((name): [string, unknown] => [name, String(body[name] ?? "")]),
    ...FLAGS.map((name): [string, unknown] => [name, body[name] === true]),
    ...(manner === "openlist"
      ? [
          ...USERS.map((name): [string, unknown] => [name, body[name] ?? null]),
          ...USER_FLAGS.map((name): [string, unknown] => [name, body[name] === true]),
        ]
      : []),
    ...later.map((name): [string, unknown] => [name, body[name] ?? ""]),
  ];
  return { id, path: cleaned(String(body["path"])), ...Object.fromEntries(entries) } as RuleRow;
}

function cleaned(path: string): string {
  return posix.normalize(`/${path.replaceAll("\\", "/")}`).replace(/(?<=.)\/$/, "");
}

const ok = (data: unknown = null) => ({ code: 200, message: "success", data });
const no = (message: string, code = 500) => ({ code, message });
const UNIQUE = no("failed to create meta: UNIQUE constraint failed: x_meta.path\n\tgorm.go:12");
const UNKNOWN = no("failed get old meta: record not found");

/** Wrong type of a member of a body; undefined: none. */
function wrongType(body: Readonly<Record<string, unknown>>, manner: Manner): object | undefined {
  const isWrong =
    ["path", ...TEXTS].some((name) => typeof (body[name] ?? "") !== "string") ||
    FLAGS.some((name) => typeof (body[name] ?? false) !== "boolean") ||
    (manner === "openlist" &&
      USERS.some((name) => {
        const value = body[name] ?? [];
        return !Array.isArray(value) || !value.every((id) => Number.isSafeInteger(id) && id >= 0);
      }));
  return isWrong ? no("json: cannot unmarshal string into Go struct field Meta", 400) : undefined;
}

/** Refusal of a line of `hide` that is no regular expression; undefined: all are. */
function badLine(hide: string): object | undefined {
  for (const line of hide.split("\n"))
    try {
      new RegExp(line);
    } catch {
      return no(`${line} is illegal: error parsing regexp: missing closing ) in \`${line}\``, 400);
    }
  return undefined;
}

/** Routes below `/api/admin/meta/`. */
export function ruleRoutes(
  rules: RulesOfSite,
  { manner, asAdmin }: { readonly manner: Manner; asAdmin(run: Route): Route },
): Record<string, Route> {
  const { rows } = rules;
  const sorted = (): RuleRow[] => [...rows.values()].sort((a, b) => a.id - b.id);
  const queryOf = (url = "/") => new URL(url, "http://site").searchParams;
  /** An id of 0, or none, is that of the first row. */
  const rowById = (id: number): RuleRow | undefined => (id === 0 ? sorted()[0] : rows.get(id));
  const save = (body: Record<string, unknown>, isNew: boolean): object => {
    if (typeof body["path"] !== "string" || body["path"] === "")
      return no("Key: 'Meta.Path' Error:Field validation for 'Path' failed on 'required'", 400);
    const refusal = wrongType(body, manner) ?? badLine(String(body["hide"] ?? ""));
    if (refusal !== undefined) return refusal;
    const id = Number(body["id"] ?? 0);
    if (!isNew && rowById(id) === undefined) return UNKNOWN;
    const own = id > 0 && (!isNew || !rows.has(id)) ? id : Math.max(0, ...rows.keys()) + 1;
    const row = rowOf(body, own, manner, rules.later);
    if ([...rows.values()].some((each) => each.path === row.path && each.id !== own)) return UNIQUE;
    rules.cached.set(row.path, rules.at(row.path));
    rows.set(own, row);
    return ok();
  };
  const changing = (call: string, run: (body: Record<string, unknown>) => object): Route =>
    asAdmin(async (request, response) => {
      // A deletion has its id in the query, and its body is not read.
      const given =
        call === "delete" ? Object.fromEntries(queryOf(request.url)) : await json(request);
      const body: Record<string, unknown> = { ...(given as object | undefined) };
      rules.calls.push({ call, body });
      await rules.hold?.("received");
      const result = run(body);
      await rules.hold?.("stored");
      envelope(response, result as ReturnType<typeof ok>);
    });
  return {
    "GET /api/admin/meta/list": asAdmin((request, response) => {
      const query = queryOf(request.url);
      const number = (name: string): number => Number(query.get(name) ?? 0);
      const size = number("per_page") < 1 ? Number.POSITIVE_INFINITY : number("per_page");
      const first = (Math.max(1, number("page")) - 1) * (size === Infinity ? 0 : size);
      const content = sorted().slice(first, first + size);
      envelope(response, ok({ content, total: rows.size }));
    }),
    "GET /api/admin/meta/get": asAdmin((request, response) => {
      const row = rowById(Number(queryOf(request.url).get("id") ?? 0));
      envelope(response, row === undefined ? UNKNOWN : ok(row));
    }),
    "POST /api/admin/meta/create": changing("create", (body) => save(body, true)),
    "POST /api/admin/meta/update": changing("update", (body) => save(body, false)),
    "POST /api/admin/meta/delete": changing("delete", ({ id = "" }) => {
      const number = Number(id);
      if (id === "" || !Number.isInteger(number))
        return no(`strconv.Atoi: parsing "${id}": invalid syntax`, 400);
      const row = rowById(number);
      if (row === undefined) return UNKNOWN;
      rules.cached.set(row.path, row);
      rows.delete(number);
      return ok();
    }),
  };
}
