import { posix } from "node:path";
import type { RuleClient } from "./client.ts";
import { refusalOf } from "./client.ts";
import type { RuleRow } from "./row.ts";

/** Finds the nearest rule above a folder. @returns undefined: there is none. */
export type RuleAbove = (path: string) => RuleRow | undefined;

/** Finds rules among the rows of a server, without those that are deleted. */
export function createRuleAbove(rows: readonly RuleRow[], deleted: ReadonlySet<number>): RuleAbove {
  const byPath = new Map(rows.filter(({ id }) => !deleted.has(id)).map((row) => [row.path, row]));
  return (path) => {
    for (let folder = path; folder !== posix.dirname(folder); ) {
      folder = posix.dirname(folder);
      const row = byPath.get(folder);
      if (row !== undefined) return row;
    }
    return undefined;
  };
}

/**
 * Deletes a row. OpenList clears its cache of a rule before it deletes the rule: a visitor who asks in
 * between keeps it for an hour. A rule above with other limits, which holds afterwards, is therefore
 * copied to the row first.
 *
 * @param row as the server has it now.
 */
export async function deleteRow(
  row: RuleRow,
  above: RuleRow | undefined,
  client: Pick<RuleClient, "update" | "delete">,
): Promise<void> {
  const limits = above === undefined ? {} : limitsBelow(above);
  if (closes(limits, row)) {
    const secrets = [row["password"], limits["password"]].filter(
      (text): text is string => typeof text === "string" && text !== "",
    );
    const body = { ...row, ...limits };
    await client.update(row.id, body, secrets);
    await client.update(row.id, body, secrets);
  }
  try {
    await client.delete(row.id);
  } catch (failure) {
    if (refusalOf(failure) !== "absent") throw failure;
  }
}

/** Members of a row that limit access, and those that extend them to the folders below. */
const LIMITS = [
  ["password", "p_sub", ""],
  ["write", "w_sub", false],
  ["hide", "h_sub", ""],
  ["read_users", "read_users_sub", []],
  ["write_users", "write_users_sub", []],
] as const;

/** Limits of a row for the folders below it, as members of a row. */
function limitsBelow(row: RuleRow): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    LIMITS.filter(([member]) => row[member] !== undefined).flatMap(([member, sub, none]) => [
      [member, row[sub] === true ? row[member] : none],
      [sub, row[sub]],
    ]),
  );
}

/** Reports whether limits differ from those of a row, and are more than the right to write. */
function closes(limits: Readonly<Record<string, unknown>>, row: RuleRow): boolean {
  return LIMITS.some(([member, , none]) => {
    if (member === "write") return row["write"] === true && limits["write"] === false;
    const [is, was] = [limits[member] ?? none, row[member] ?? none];
    return (
      JSON.stringify(is) !== JSON.stringify(none) && JSON.stringify(is) !== JSON.stringify(was)
    );
  });
}
