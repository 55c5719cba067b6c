import { message, type Text } from "../../messages/message.ts";
import {
  NO_VALUES,
  RULE_MEMBERS,
  type RuleMember,
  type RuleValues,
  USER_MEMBERS,
} from "../rule.ts";

/** Folder rule in a server's list. Other members are sent back unchanged. */
export interface RuleRow {
  /** Greater than 0. */
  readonly id: number;
  readonly path: string;
  readonly [member: string]: unknown;
}

/** Maximum length of the path by which a rule is identified. */
const MAX_PATH = 4_096;

/** Reports whether a value is a row of a list of rules. */
export function isRuleRow(value: unknown): value is RuleRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Readonly<Record<string, unknown>>;
  return (
    Number.isSafeInteger(row["id"]) &&
    (row["id"] as number) > 0 &&
    typeof row["path"] === "string" &&
    row["path"].length <= MAX_PATH &&
    RULE_MEMBERS.every((member) => hasType(row[member], member))
  );
}

/** Reports whether a member has the type of servers, or is absent. */
function hasType(value: unknown, member: RuleMember): boolean {
  if (value === undefined) return true;
  const like = NO_VALUES[member];
  if (typeof like !== "object") return typeof value === typeof like;
  return value === null || (Array.isArray(value) && value.every(Number.isSafeInteger));
}

const USERS: ReadonlySet<string> = new Set(USER_MEMBERS);

/** Reports whether only servers with lists of users have a member. */
export function isUserMember(member: RuleMember): boolean {
  return USERS.has(member);
}

/** Reports whether a server has the lists of users: AList and older servers do not. */
export function hasUsers(row: RuleRow): boolean {
  return USER_MEMBERS.every((member) => row[member] !== undefined);
}

/** Users of a site. */
export interface SiteUsers {
  /** @returns undefined for an unknown name. */
  idOf(name: string): number | undefined;
  /** Name of a user; `#ID` of an id without a user, so that no restriction is lost. */
  nameOf(id: number): string;
}

const NO_USER = /^#(\d{1,15})$/;

export function createSiteUsers(
  users: readonly { readonly id: number; readonly name: string }[],
): SiteUsers {
  const names = new Map(users.map(({ id, name }) => [id, name]));
  const ids = new Map(users.map(({ id, name }) => [name, id]));
  return {
    nameOf: (id) => names.get(id) ?? `#${id}`,
    idOf: (name) => {
      const known = ids.get(name);
      if (known !== undefined) return known;
      const id = Number(NO_USER.exec(name)?.[1] ?? Number.NaN);
      // An id that a user has now belongs to somebody else.
      return Number.isSafeInteger(id) && !names.has(id) ? id : undefined;
    },
  };
}

/** Users of a site whose list was not needed or could not be read: each id is shown as `#ID`. */
export const NO_USERS = createSiteUsers([]);

/** Names of users of a rule that a site does not have. */
export function unknownUsers(values: RuleValues, users: Pick<SiteUsers, "idOf">): string[] {
  const names = [...values.read_users, ...values.write_users];
  return [...new Set(names)].filter((name) => users.idOf(name) === undefined);
}

/** Reports whether a rule restricts its folder to some users. */
export function namesUsers({ read_users: read, write_users: write }: RuleValues): boolean {
  return read.length > 0 || write.length > 0;
}

/** Ids of users of a row, in its order. */
export function userIdsOf(row: RuleRow): readonly number[] {
  return [row["read_users"], row["write_users"]].flatMap((ids) =>
    Array.isArray(ids) ? (ids as number[]) : [],
  );
}

/** Value of a member of a row. An absent one has the server's zero value. */
export function memberOf(
  row: RuleRow,
  member: RuleMember,
  users: Pick<SiteUsers, "nameOf">,
): RuleValues[RuleMember] {
  const value = row[member] ?? NO_VALUES[member];
  if (!Array.isArray(value)) return value as string | boolean;
  return [
    ...new Set((value as readonly (number | string)[]).map((id) => users.nameOf(Number(id)))),
  ];
}

/**
 * Warning about a row that hides every name: the server compiles each line of `hide`, and an empty
 * expression fits all names. Empty: none.
 */
export function hideWarning(row: RuleRow): Text {
  const hide = String(memberOf(row, "hide", NO_USERS));
  const hidesAll = hide !== "" && hide.split("\n").includes("");
  return hidesAll ? message("RULE_HIDES_ALL") : "";
}

/** Values of a row. */
export function valuesOf(row: RuleRow, users: Pick<SiteUsers, "nameOf">): RuleValues {
  const entries = RULE_MEMBERS.map((member) => [member, memberOf(row, member, users)]);
  return Object.fromEntries(entries) as unknown as RuleValues;
}

/**
 * Body of a rule for a create or an update. It has every member: one that is left out would become
 * empty on the server.
 *
 * @param row of an update, whose other members are kept. @throws Error for an unknown user.
 */
export function bodyOf(
  { path, values }: { readonly path: string; readonly values: RuleValues },
  users: Pick<SiteUsers, "idOf">,
  row?: RuleRow,
): Readonly<Record<string, unknown>> {
  const idsOf = (names: readonly string[]): readonly number[] =>
    names.map((name) => {
      const id = users.idOf(name);
      // The rule would lose its restriction.
      if (id === undefined) throw new Error("a rule with an unknown user is never sent");
      return id;
    });
  return {
    ...row,
    ...values,
    path,
    read_users: idsOf(values.read_users),
    write_users: idsOf(values.write_users),
  };
}
