import { posix } from "node:path";
import { message } from "../messages/message.ts";
import { sortedJson } from "../sorted-json.ts";
import type { SiteClient } from "../sync/client.ts";
import { isUncertain, SiteFailure } from "../sync/failure.ts";
import { readPages } from "../sync/page.ts";
import {
  ADMIN,
  GENERAL,
  GUEST,
  hasPathLimit,
  type Role,
  type User,
  type UserFamily,
  type UserList,
} from "./user.ts";

/** User as a server returns it. Other members are sent back unchanged. */
interface UserRow {
  readonly id: number;
  readonly username: string;
  readonly base_path: string;
  /** OpenList and older AList: a number; AList: ids of roles. */
  readonly role: number | readonly number[];
  readonly disabled: boolean;
  readonly permission: number;
  readonly sso_id: string;
  readonly allow_ldap?: boolean;
  readonly [member: string]: unknown;
}

/** Role as an AList returns it. */
interface RoleRow {
  readonly id: number;
  readonly name: string;
  readonly [member: string]: unknown;
}

/** Users of a server, with what its calls need. */
export interface ServerUsers extends UserList {
  readonly users: readonly ServerUser[];
  /** Value of `role` of a new user. Roles without an id here are left out. */
  roleValue(names: readonly string[]): number | readonly number[];
  /** Reports whether the server has the role. */
  hasRole(name: string): boolean;
}

export interface ServerUser extends User {
  readonly id: number;
}

/** Members of a user that Mooring writes. Undefined: the server's own value stays. */
export type UserMembers = Pick<
  User,
  "basePath" | "disabled" | "permission" | "ssoId" | "allowLdap"
>;

/** The calls of one server below `/api/admin/user/`. Every method throws SiteFailure. */
export interface UserClient {
  list(): Promise<ServerUsers>;
  /** Creates a user with all its members in one call. */
  create(
    user: UserMembers & { readonly name: string; readonly role: number | readonly number[] },
    password: string,
  ): Promise<void>;
  /**
   * Replaces members of a user. The whole user is sent: a server empties a member that is left out.
   * Name, role, password and members unknown here stay.
   *
   * The user is sent twice: OpenList clears its caches of a user before it stores the user
   * (`UpdateUser` of its internal/op/user.go), and a request of this user in between restores the
   * former account, with its rights, for an hour. A first call without an answer may have stored the
   * user: it is sent anew, so that two calls follow it.
   *
   * @returns the failure of the second call; undefined: none. @throws SiteFailure also when the id is
   *   no longer this user's.
   */
  update(
    user: Pick<ServerUser, "id" | "name">,
    members: UserMembers,
  ): Promise<SiteFailure | undefined>;
  /** Reports whether a folder exists; undefined: the server cannot say. */
  hasFolder(path: string): Promise<boolean | undefined>;
}

const AT = "/api/admin/user";
/** Maximum number of users of a server. A longer list is refused as a whole. */
const MAX_USERS = 10_000;
const MAX_ROLES = 1_000;
/** Time limit of the check of a folder, in milliseconds: the server may call a provider. */
const FOLDER_LIMIT = 5_000;

export function createUserClient(client: SiteClient): UserClient {
  return {
    list: async () => {
      const rows = await readPages(client, `${AT}/list`, {
        isRow: isUserRow,
        idOf: ({ id }) => id,
        most: MAX_USERS,
      });
      const hasRoles = rows.some(({ role }) => typeof role !== "number");
      const roles = hasRoles
        ? await readPages(client, "/api/admin/role/list", {
            isRow: isRoleRow,
            idOf: ({ id }) => id,
            most: MAX_ROLES,
          })
        : [];
      return serverUsers(rows, roles, hasRoles);
    },
    create: async (user, password) => {
      const body = { username: user.name, password, role: user.role, ...membersOf(user) };
      await client.call("POST", `${AT}/create`, body, { secrets: [password] });
    },
    update: async ({ id, name }, members) => {
      const row = await client.call("GET", `${AT}/get?id=${id}`);
      if (!isUserRow(row) || row.id !== id || row.username !== name)
        throw new SiteFailure("refused", message("USER_CHANGED_MEANWHILE", { name }));
      const body = { ...row, ...membersOf(members), password: "" };
      const send = () => client.call("POST", `${AT}/update`, body);
      await send().catch((error: unknown) => {
        if (error instanceof SiteFailure && isUncertain(error)) return send();
        throw error;
      });
      try {
        await send();
        return undefined;
      } catch (error) {
        if (!(error instanceof SiteFailure)) throw error;
        return error;
      }
    },
    hasFolder: async (path) => {
      try {
        const body = { path, password: "" };
        await client.call("POST", "/api/fs/get", body, { limit: FOLDER_LIMIT });
        return true;
      } catch (error) {
        if (!(error instanceof SiteFailure)) throw error;
        return error.kind === "refused" && /not found/i.test(error.words) ? false : undefined;
      }
    },
  };
}

function membersOf({ basePath, disabled, permission, ssoId, allowLdap }: UserMembers): object {
  return {
    // A server takes an empty path for the root, which opens its whole tree.
    base_path: cleanFolder(basePath),
    disabled,
    permission,
    sso_id: ssoId,
    ...(allowLdap === undefined ? {} : { allow_ldap: allowLdap }),
  };
}

function serverUsers(
  rows: readonly UserRow[],
  roleRows: readonly RoleRow[],
  hasRoles: boolean,
): ServerUsers {
  const family = familyOf(rows, hasRoles);
  const ids = new Map(roleRows.map(({ id, name }) => [name, id]));
  const names = new Map(roleRows.map(({ id, name }) => [id, name]));
  const nameOf = (id: number): string => BUILT_IN[id] ?? names.get(id) ?? `#${id}`;
  const idOf = (name: string): number | undefined =>
    name === GENERAL ? (ids.get(name) ?? 0) : ids.get(name);
  return {
    family,
    roles: roleRows.map(roleOf),
    users: rows.map((row) => ({
      id: row.id,
      name: row.username,
      basePath: cleanFolder(row.base_path),
      roles: [row.role].flat().map((id) => (id === 0 ? GENERAL : nameOf(id))),
      disabled: row.disabled,
      permission: row.permission,
      ssoId: row.sso_id,
      allowLdap: row.allow_ldap,
    })),
    roleValue: (wanted) => (hasRoles ? wanted.flatMap((name) => idOf(name) ?? []) : 0),
    hasRole: (name) => (hasRoles ? idOf(name) !== undefined : name === GENERAL),
  };
}

/** Roles with a fixed number on every server. */
const BUILT_IN: Readonly<Record<number, string>> = { 1: GUEST, 2: ADMIN };

/** Only OpenList has `allow_ldap`, and only AList has several roles. Every server has users. */
function familyOf(rows: readonly UserRow[], hasRoles: boolean): UserFamily {
  return !hasRoles && rows.some(({ allow_ldap }) => allow_ldap !== undefined)
    ? "openlist"
    : "alist";
}

function roleOf({ id: _id, name, description: _description, ...definition }: RoleRow): Role {
  return { name, definition: sortedJson(definition), limitsPaths: limitsPaths(definition) };
}

/** Reports whether a role has the bit of a limit, or paths without the root. */
function limitsPaths({
  permission,
  base_paths: basePaths,
  permission_scopes: scopes,
}: Readonly<Record<string, unknown>>): boolean {
  const entries: readonly unknown[] = Array.isArray(scopes) ? scopes : [];
  const members = entries.map((entry) => (entry ?? {}) as Readonly<Record<string, unknown>>);
  const paths = [
    ...(Array.isArray(basePaths) ? basePaths : []),
    ...members.map(({ path }) => path),
  ];
  return (
    [permission, ...members.map((member) => member["permission"])].some(
      (bits) => typeof bits === "number" && hasPathLimit(bits, "alist"),
    ) ||
    (paths.length > 0 && !paths.includes("/"))
  );
}

/** A folder as servers store it. */
function cleanFolder(path: string): string {
  return posix.normalize(`/${path.replaceAll("\\", "/")}`).replace(/(?<=.)\/$/, "");
}

function isUserRow(value: unknown): value is UserRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  return (
    isId(row["id"]) &&
    ["username", "base_path", "sso_id"].every((name) => isText(row[name])) &&
    row["username"] !== "" &&
    typeof row["disabled"] === "boolean" &&
    Number.isSafeInteger(row["permission"]) &&
    (Number.isSafeInteger(row["role"]) ||
      (Array.isArray(row["role"]) && row["role"].every(Number.isSafeInteger))) &&
    ["undefined", "boolean"].includes(typeof row["allow_ldap"])
  );
}

function isRoleRow(value: unknown): value is RoleRow {
  if (value === null || typeof value !== "object") return false;
  const { id, name } = value as Record<string, unknown>;
  return isId(id) && isText(name);
}

function isId(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** Maximum length of a text of a user. */
const MAX_TEXT = 4_096;

function isText(value: unknown): boolean {
  return typeof value === "string" && value.length <= MAX_TEXT && value.isWellFormed();
}
