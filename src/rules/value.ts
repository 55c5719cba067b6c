import { message, problemAt, type Text } from "../messages/message.ts";
import { dotnetLines } from "../settings/format/dotnet.ts";
import { trimEnd } from "../trim-end.ts";
import { NO_VALUES, RULE_MEMBERS, type RuleMember, type RuleValues } from "./rule.ts";

/** Maximum size of a text of a rule, in bytes of UTF-8. */
const MAX_TEXT = 65_536;
const MAX_PASSWORD = 1_000;
const MAX_USERS = 1_000;
const MAX_USER = 255;

/** Control characters, which databases and pages of servers refuse or change. */
const CONTROL = /\p{Cc}/u;
const CONTROL_IN_TEXT = /[\p{Cc}--[\t\n\r]]/v;

/** Problems of values of another JSON type, by the right type. */
const TYPE_PROBLEM = {
  string: "VALUE_NOT_TEXT",
  boolean: "VALUE_NOT_SWITCH",
  object: "VALUE_NOT_LIST",
} as const;

/** Values with the JSON types of a rule. Other types are violations. */
export type ValueInput = Readonly<Partial<Record<RuleMember, unknown>>>;

/**
 * Reads and checks values of a rule. A value of another JSON type is left out.
 *
 * @param report is called with each problem, which never quotes a password.
 */
export function readValues(
  input: ValueInput,
  report: (member: RuleMember, problem: Text) => void,
): Partial<RuleValues> {
  const values: Record<string, RuleValues[RuleMember]> = {};
  for (const member of RULE_MEMBERS) {
    const value = input[member];
    if (value === undefined) continue;
    if (!hasType(value, NO_VALUES[member])) {
      report(member, message(TYPE_PROBLEM[typeof NO_VALUES[member] as keyof typeof TYPE_PROBLEM]));
      continue;
    }
    const read = typeof value === "object" ? [...new Set(value)] : value;
    const problem = valueProblem(member, read);
    if (problem !== undefined) report(member, problem);
    values[member] = read;
  }
  return values;
}

/**
 * Values as people write them in a form or a file: line breaks of Windows and empty lines of `hide`
 * are removed. A server compiles each line, and an empty expression hides every name.
 */
export function tidyValues(values: ValueInput): ValueInput {
  const { hide } = values;
  if (typeof hide !== "string") return values;
  const lines = hide.split("\n").map((line) => trimEnd(line, "\r"));
  return { ...values, hide: lines.filter((line) => line !== "").join("\n") };
}

function hasType(value: unknown, like: RuleValues[RuleMember]): value is RuleValues[RuleMember] {
  if (typeof like !== "object") return typeof value === typeof like;
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

function valueProblem(member: RuleMember, value: RuleValues[RuleMember]): Text | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value !== "string") return usersProblem(value);
  if (!value.isWellFormed()) return message("SURROGATE");
  if (member === "password") {
    if (value.length > MAX_PASSWORD) return message("ITEM_TOO_LONG", { most: MAX_PASSWORD });
    return CONTROL.test(value) ? message("CONTROL_CHARACTERS") : undefined;
  }
  const size = Buffer.byteLength(value);
  if (size > MAX_TEXT) return message("TEXT_TOO_LARGE", { size, most: MAX_TEXT });
  if (CONTROL_IN_TEXT.test(value)) return message("CONTROL_CHARACTERS");
  return member === "hide" && value !== "" ? dotnetLines.check(value) : undefined;
}

function usersProblem(users: readonly string[]): Text | undefined {
  if (users.length > MAX_USERS) return message("TOO_MANY_USER_NAMES", { most: MAX_USERS });
  const at = users.findIndex(
    (name) => name === "" || name.length > MAX_USER || CONTROL.test(name) || !name.isWellFormed(),
  );
  return at < 0
    ? undefined
    : problemAt(`[${at}]`, message("USER_NAME_INVALID", { most: MAX_USER }));
}
