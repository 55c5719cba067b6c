// Users of servers as text.
import type { User, UserDifference, UserResult } from "../../gen/mooring/v1/user_pb.js";
import { type Output, printableLine } from "./output.ts";

/** Writes the users of a server as a table. */
export async function writeUsers(output: Output, users: readonly User[]): Promise<void> {
  await output.table(
    [
      { title: "NAME" },
      { title: "FOLDER", flexible: true },
      { title: "ROLES", flexible: true },
      { title: "STATE" },
      { title: "PERMISSIONS", flexible: true },
    ],
    users.map(({ name, basePath, roles, disabled, permissions }) => [
      name,
      basePath,
      roles.join(","),
      disabled ? "disabled" : "enabled",
      permissions.join(","),
    ]),
  );
}

/** Writes the differences of the users of two servers as a table, with both values of each member. */
export async function writeDifferences(
  output: Output,
  differences: readonly UserDifference[],
): Promise<void> {
  await output.table(
    [{ title: "NAME" }, { title: "STATE" }, { title: "DIFFERENCES", flexible: true }],
    differences.map(({ name, state, differs, from, to }) => [
      name,
      state,
      differs
        .map((member) => `${member}: ${shown(from, member)} -> ${shown(to, member)}`)
        .join("; "),
    ]),
  );
}

/** A member of a user as text. */
function shown(user: User | undefined, member: string): string {
  switch (member) {
    case "base_path":
      return user?.basePath ?? "";
    case "roles":
      return user?.roles.join(",") ?? "";
    case "disabled":
      return user?.disabled === true ? "yes" : "no";
    case "permissions":
      return user?.permissions.join(",") || "none";
    case "sso_id":
      return user?.ssoId || "none";
    case "allow_ldap":
      return user?.allowLdap === false ? "no" : "yes";
    default:
      return "";
  }
}

/** Writes the results of a copy: a table, and what is not copied or noted, each text once. */
export async function writeResults(output: Output, results: readonly UserResult[]): Promise<void> {
  const hasPasswords = results.some(({ password }) => password !== "");
  await output.table(
    [
      { title: "NAME" },
      { title: "RESULT" },
      ...(hasPasswords ? [{ title: "PASSWORD" }] : []),
      { title: "DIFFERED" },
      { title: "REASON", flexible: true as const },
    ],
    results.map(({ name, outcome, password, differs, reason }) => [
      name,
      outcome,
      ...(hasPasswords ? [password] : []),
      differs.join(","),
      reason,
    ]),
  );
  await writeTexts(output, "not copied", results, ({ lost }) => lost);
  await writeTexts(output, "note", results, ({ notes }) => notes);
}

async function writeTexts(
  output: Output,
  title: string,
  results: readonly UserResult[],
  textsOf: (result: UserResult) => readonly string[],
): Promise<void> {
  const names = new Map<string, string[]>();
  for (const result of results)
    for (const text of textsOf(result)) names.set(text, [...(names.get(text) ?? []), result.name]);
  for (const [text, of] of names)
    await output.write(`${printableLine(`${title}: ${text} (${of.join(", ")})`)}\n`);
}
