// Folder rules as text for people, and as arguments.
import { create, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type ListValue, ListValueSchema } from "@bufbuild/protobuf/wkt";
import {
  type Rule,
  type RuleInput,
  type RuleOverride,
  RuleOverrideSchema,
  RuleSchema,
  type RuleStatus,
} from "../../gen/mooring/v1/rule_pb.js";
import { quote } from "../config/complaint.ts";
import { ownValue, setOwn } from "../own-value.ts";
import { suggestion } from "../suggestion.ts";
import { listItems, refuseRepeated } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { usage } from "./failure.ts";
import { readSites, sitesText, textOf } from "./mount.ts";
import { type Output, printableLine } from "./output.ts";

/** Members of a rule by the servers' names, with the names in messages. */
const MEMBERS = {
  password: { field: "password", type: "text" },
  p_sub: { field: "pSub", type: "flag" },
  write: { field: "write", type: "flag" },
  w_sub: { field: "wSub", type: "flag" },
  hide: { field: "hide", type: "text" },
  h_sub: { field: "hSub", type: "flag" },
  readme: { field: "readme", type: "text" },
  r_sub: { field: "rSub", type: "flag" },
  header: { field: "header", type: "text" },
  header_sub: { field: "headerSub", type: "flag" },
  read_users: { field: "readUsers", type: "list" },
  read_users_sub: { field: "readUsersSub", type: "flag" },
  write_users: { field: "writeUsers", type: "list" },
  write_users_sub: { field: "writeUsersSub", type: "flag" },
} as const;

type Member = (typeof MEMBERS)[keyof typeof MEMBERS];
type Value = string | boolean | ListValue;

/** Prints rules, a line each. */
export async function writeRules(output: Output, rules: readonly Rule[]): Promise<void> {
  await output.table(
    [
      { title: "PATH", flexible: true },
      { title: "RESTRICTS", flexible: true },
      { title: "SITES" },
      { title: "STATE", flexible: true },
    ],
    rules.map((rule) => [rule.path, restrictions(rule), sitesText(rule.sites), stateOf(rule)]),
  );
}

/** What a rule restricts, such as `password, hide`; empty: nothing. */
function restrictions({ password, hide, readUsers, writeUsers }: Rule): string {
  return [
    ...(password === "" ? [] : ["password"]),
    ...(readUsers.length === 0 ? [] : [`readers ${readUsers.join(", ")}`]),
    ...(writeUsers.length === 0 ? [] : [`writers ${writeUsers.join(", ")}`]),
    ...(hide === "" ? [] : ["hide"]),
  ].join("; ");
}

function stateOf({ status, missing }: Rule): string {
  if (missing.length > 0) return `incomplete: ${missing.join(", ")}`;
  const bad = status.filter(({ state }) => state !== "ok");
  if (bad.length > 0)
    return bad
      .map(({ site, state, error }) => `${site}: ${state}${error === "" ? "" : ` (${error})`}`)
      .join("; ");
  return status.length === 0 ? "" : "ok";
}

/** Prints one rule, a member a line. */
export async function writeRule(output: Output, rule: Rule): Promise<void> {
  const {
    overrides = {},
    sites: _sites,
    status: _status,
    ...members
  } = toJson(RuleSchema, rule, {
    useProtoFieldName: true,
  }) as JsonObject & { overrides?: Readonly<Record<string, JsonObject>> };
  const rowsOf = (values: JsonObject, at = ""): [string, string][] =>
    Object.entries(values).map(([name, value]) => [
      `${name}${at}`,
      Array.isArray(value) ? value.join(",") : String(value),
    ]);
  const rows = [
    ...rowsOf(members),
    ["sites", sitesText(rule.sites)] as [string, string],
    ...Object.entries(overrides).flatMap(([site, values]) => rowsOf(values, `@${site}`)),
    ...rule.status.flatMap(statusRows),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  await output.write(
    rows.map(([name, text]) => `${name.padEnd(width)}  ${printableLine(text)}\n`).join(""),
  );
}

function statusRows({ site, state, error, remedy, differs }: RuleStatus): [string, string][] {
  const what = [error, differs.length > 0 ? `differs: ${differs.join(", ")}` : ""];
  const text = what.filter((part) => part !== "").join("; ");
  return [
    [`state@${site}`, `${state}${text === "" ? "" : ` (${text})`}`],
    ...(remedy === "" ? [] : ([[`remedy@${site}`, remedy]] as [string, string][])),
  ];
}

/** Prints the status of rules on a site, a line each. */
export async function writeRuleStatus(
  output: Output,
  statuses: readonly RuleStatus[],
): Promise<void> {
  await output.write(
    statuses
      .map(({ path, state, error }) =>
        printableLine(`${path}: ${state}${error === "" ? "" : ` (${error})`}`),
      )
      .map((line) => `${line}\n`)
      .join(""),
  );
}

/**
 * Reads arguments such as `hide=@lines.txt`, `read_users=ann,bob`, `sites=home` and
 * `readme@home=text` into an input.
 *
 * @param before the current rule, whose own values of sites stay.
 */
export async function readRuleMembers(
  run: CommandRun,
  input: RuleInput,
  members: readonly string[],
  before?: Rule,
): Promise<void> {
  refuseRepeated(members);
  const overrides = structuredClone(before?.overrides ?? {});
  for (const member of members) {
    const [, name = "", site, text] = /^([^=@]+)(?:@([^=]+))?(?:=(.*))?$/s.exec(member) ?? [];
    if (name === "") throw usage("an argument is not MEMBER=VALUE, such as password=@-");
    if (site === undefined && name === "sites") {
      input.sites = readSites(text ?? "");
      continue;
    }
    const known: Member | undefined = ownValue(MEMBERS, name);
    if (known === undefined && !(site !== undefined && name === "path"))
      throw usage(
        `a rule has no ${quote(name)}${suggestion(name, ["sites", ...Object.keys(MEMBERS)])}`,
      );
    const given = text === undefined ? undefined : await textOf(run, text);
    if (site === undefined) {
      if (known !== undefined)
        Object.assign(input, { [known.field]: memberValue(name, known, given ?? "") });
      continue;
    }
    const override: RuleOverride = ownValue(overrides, site) ?? create(RuleOverrideSchema);
    setOwn(overrides, site, override);
    const field = known?.field ?? "path";
    const values = override as unknown as Record<string, Value | undefined>;
    if (given === undefined) delete values[field];
    else values[field] = known === undefined ? given : memberValue(name, known, given);
    setOwn(input.overrides, site, override);
    // The values of a site are sent as a whole: those of another client are not replaced.
    if (before !== undefined) input.expectedEtag = before.etag;
  }
}

/** Value of a member. Empty: none. */
function memberValue(name: string, { type }: Member, text: string): Value {
  if (type === "text") return text;
  if (type === "list")
    return fromJson(ListValueSchema, listItems(text === "" ? undefined : text, name));
  if (!["true", "false", ""].includes(text)) throw usage(`${name} must be true or false`);
  return text === "true";
}
