import { isObject } from "../../is-object.ts";
import { message } from "../../messages/message.ts";
import type { ReadRow } from "../../records/import.ts";
import type { ChosenSites } from "../../sites/site-choice-input.ts";
import { cleanPath } from "../../sites/site-path.ts";
import type { RuleInput } from "../input.ts";
import { NO_VALUES, RULE_MEMBERS, USER_MEMBERS } from "../rule.ts";

/** Lists of users: they have ids of the server that has the row. */
const USERS: readonly string[] = USER_MEMBERS.filter((member) => !member.endsWith("_sub"));

/**
 * Reads a row of a backup, a reply or a database of a server. Switches of databases are 0 and 1.
 * Rows with users are not imported: without them, the folder would be open to all.
 *
 * @param sites of a new rule. @param isNew whether a path has no rule.
 */
export function readRow(
  row: unknown,
  {
    sites,
    isNew,
  }: {
    readonly sites: ChosenSites | undefined;
    readonly isNew: (path: string) => boolean;
  },
): ReadRow<RuleInput> {
  if (!isObject(row) || typeof row["path"] !== "string")
    return { path: "", reason: message("RULE_ROW_INVALID") };
  const path = cleanPath(row["path"]);
  if (USERS.some((member) => hasUsers(row[member])))
    return { path, reason: message("RULE_ROW_USERS") };
  const values = Object.fromEntries(
    RULE_MEMBERS.flatMap((member) => {
      const value = row[member];
      if (value === undefined || value === null || USERS.includes(member)) return [];
      const isSwitch = typeof NO_VALUES[member] === "boolean" && (value === 0 || value === 1);
      return [[member, isSwitch ? value === 1 : value]];
    }),
  );
  return { input: { path, values, ...(isNew(path) && { sites }) } };
}

/** Reports whether a list of users is not empty. Databases have it as JSON. */
function hasUsers(value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (Array.isArray(value)) return value.length > 0;
  return !["", "null", "[]"].includes(String(value).trim());
}
