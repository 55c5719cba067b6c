import { posix } from "node:path";
import type { Route } from "./stand-in-account.ts";
import { envelope, json } from "./stand-in-reply.ts";
import type { Sessions } from "./stand-in-session.ts";
import type { Manner } from "./stand-in-setting.ts";

/** User as a server stores it. */
export interface UserRow {
  id: number;
  username: string;
  base_path: string;
  role: number | number[];
  disabled: boolean;
  permission: number;
  sso_id: string;
  /** OpenList only. */
  allow_ldap?: boolean;
  /** Never in replies. */
  readonly hidden: { password: string; otp: string; passkeys: number };
}

/** Role of an AList. */
interface RoleRow {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly permission_scopes: readonly { readonly path: string; readonly permission: number }[];
}

/** Users, roles and shares of a site. */
export interface UsersOfSite {
  readonly rows: Map<number, UserRow>;
  readonly roles: RoleRow[];
  readonly shares: Map<string, Record<string, unknown>>;
  /** Folders that do not exist. */
  readonly missing: Set<string>;
  /** Maximum number of users of a page. */
  pageSize: number;
  /** Awaited before a user is stored. */
  hold: ((name: string) => unknown) | undefined;
  /**
   * Account of each user who asks all the time: the server clears its cache before it stores a user,
   * so that this one has the former account until the next change.
   */
  readonly cached: Map<string, UserRow>;
  /** Stores a user without a call. */
  add(user: Partial<UserRow> & Pick<UserRow, "username">): UserRow;
  named(name: string): UserRow | undefined;
}

/** Whether a role of a user is a number or a list of ids. */
export interface UserForm {
  readonly manner: Manner;
  readonly roleAsArray: boolean;
}

const GUEST = 1;
const ADMIN = 2;

export function createUsersOfSite({ manner, roleAsArray }: UserForm): UsersOfSite {
  const rows = new Map<number, UserRow>();
  let id = 0;
  const users: UsersOfSite = {
    rows,
    roles: [GUEST, ADMIN].map((role) => ({
      id: role,
      name: role === ADMIN ? "admin" : "guest",
      description: "",
      permission_scopes: [{ path: "/", permission: role === ADMIN ? 0x30ff : 0 }],
    })),
    shares: new Map(),
    missing: new Set(),
    pageSize: Number.POSITIVE_INFINITY,
    hold: undefined,
    cached: new Map(),
    named: (name) => [...rows.values()].find(({ username }) => username === name),
    add: (user) => {
      id += 1;
      const row: UserRow = {
        base_path: "/",
        role: roleAsArray ? [0] : 0,
        disabled: false,
        permission: 0,
        sso_id: "",
        ...(manner === "openlist" && { allow_ldap: true }),
        hidden: { password: "", otp: "", passkeys: 0 },
        ...user,
        id,
      };
      rows.set(id, row);
      return row;
    },
  };
  const role = (one: number) => (roleAsArray ? [one] : one);
  users.add({ username: "admin", role: role(ADMIN), permission: 0x30ff });
  users.add({ username: "guest", role: role(GUEST), disabled: true });
  return users;
}

const ok = (data: unknown = null) => ({ code: 200, message: "success", data });
const no = (message: string, code = 500) => ({ code, message });

/** Routes below `/api/admin/user/`, `/api/admin/role/` and `/api/share/`. */
export function userRoutes(
  users: UsersOfSite,
  {
    form,
    sessions,
    asAdmin,
  }: { readonly form: UserForm; readonly sessions: Sessions; asAdmin(run: Route): Route },
): Record<string, Route> {
  const { rows } = users;
  const shown = ({ hidden: _hidden, ...row }: UserRow) => ({ ...row, password: "" });
  const problem = (body: Record<string, unknown>): object | undefined => {
    const { role = form.roleAsArray ? [] : 0, username } = body;
    if (typeof username !== "string" || username === "")
      return no("Key: 'User.Username' Error:Field validation for 'Username' failed", 400);
    if (Array.isArray(role) !== form.roleAsArray)
      return no(
        Array.isArray(role)
          ? "json: cannot unmarshal array into Go struct field User.role of type int"
          : "json: cannot unmarshal number into Go struct field User.role of type model.Roles",
        400,
      );
    return undefined;
  };
  /** A row of a body: a member that is left out becomes empty, and an empty path the root. */
  const rowOf = (
    body: Record<string, unknown>,
    id: number,
    hidden: UserRow["hidden"],
  ): UserRow => ({
    id,
    username: String(body["username"]),
    base_path: posix.normalize(`/${String(body["base_path"] ?? "")}`).replace(/(?<=.)\/$/, ""),
    role: (body["role"] ?? (form.roleAsArray ? [] : 0)) as UserRow["role"],
    disabled: body["disabled"] === true,
    permission: Number(body["permission"] ?? 0),
    sso_id: String(body["sso_id"] ?? ""),
    ...(form.manner === "openlist" && { allow_ldap: body["allow_ldap"] === true }),
    hidden,
  });
  const isTaken = (name: string, id: number): boolean =>
    [...rows.values()].some((row) => row.username === name && row.id !== id);
  const TAKEN = no("UNIQUE constraint failed: x_users.username");
  const create = (body: Record<string, unknown>): object => {
    const refusal = problem(body);
    if (refusal !== undefined) return refusal;
    const password = String(body["password"] ?? "");
    const row = rowOf(body, 0, { password, otp: "", passkeys: 0 });
    // Without a role AList takes its default one, which is the guest's.
    if (Array.isArray(row.role) && row.role.length === 0) row.role = [GUEST];
    if ([row.role].flat().some((role) => role === GUEST || role === ADMIN))
      return no("admin or guest user can not be created", 400);
    if (isTaken(row.username, 0)) return TAKEN;
    // The default of the column replaces false.
    if (form.manner === "openlist") row.allow_ldap = true;
    const { disabled, username: name } = users.add(row);
    sessions.users.set(name, { name, password, role: 0, disabled });
    return ok();
  };
  const update = (body: Record<string, unknown>): object => {
    const refusal = problem(body);
    if (refusal !== undefined) return refusal;
    const old = rows.get(Number(body["id"] ?? 0));
    if (old === undefined) return no("failed get old user: record not found");
    const row = rowOf(body, old.id, { ...old.hidden, passkeys: 0 });
    if (JSON.stringify(row.role) !== JSON.stringify(old.role))
      return no("role can not be changed", 400);
    if (row.disabled && [row.role].flat().includes(ADMIN))
      return no("admin user can not be disabled", 400);
    if (isTaken(row.username, row.id)) return TAKEN;
    const password = String(body["password"] ?? "");
    if (password !== "") row.hidden.password = password;
    users.cached.set(row.username, old);
    rows.set(row.id, row);
    const session = sessions.users.get(row.username);
    if (session !== undefined) session.disabled = row.disabled;
    return ok();
  };
  const reply =
    (run: (request: Parameters<Route>[0]) => object | Promise<object>): Route =>
    async (request, response) =>
      envelope(response, (await run(request)) as ReturnType<typeof ok>);
  const bodyOf = async (request: Parameters<Route>[0]): Promise<Record<string, unknown>> =>
    ((await json(request)) ?? {}) as Record<string, unknown>;
  const shares = {
    "GET /api/share/list": asAdmin(
      reply((request) => ok(pageOf(request.url, [...users.shares.values()]))),
    ),
    "POST /api/share/create": asAdmin(
      reply(async (request) => {
        const body = await bodyOf(request);
        const { id, creator, files } = body;
        if (!Array.isArray(files) || files.length === 0)
          return no("must add at least 1 object", 400);
        if (users.named(String(creator)) === undefined) return no("no such a user", 400);
        if (users.shares.has(String(id))) return no("sharing already exist");
        const { expires = null, pwd = "", accessed = 0, max_accessed = 0, disabled = false } = body;
        const sort = { order_by: "", order_direction: "", extract_folder: "" };
        const share = { remark: "", readme: "", header: "", ...sort, ...body, creator_role: 0 };
        const stored = { ...share, expires, pwd, accessed, max_accessed, disabled };
        users.shares.set(String(id), stored);
        return ok(stored);
      }),
    ),
  };
  return {
    "GET /api/admin/user/list": asAdmin(
      reply((request) => ok(pageOf(request.url, [...rows.values()].map(shown), users.pageSize))),
    ),
    "GET /api/admin/user/get": asAdmin(
      reply((request) => {
        const id = new URL(request.url ?? "/", "http://site").searchParams.get("id");
        const row = rows.get(Number(id));
        return row === undefined ? no("failed get old user: record not found") : ok(shown(row));
      }),
    ),
    "POST /api/admin/user/create": asAdmin(
      reply(async (request) => {
        const body = await bodyOf(request);
        await users.hold?.(String(body["username"]));
        return create(body);
      }),
    ),
    "POST /api/admin/user/update": asAdmin(
      reply(async (request) => {
        const body = await bodyOf(request);
        await users.hold?.(String(body["username"]));
        return update(body);
      }),
    ),
    ...(form.roleAsArray && {
      "GET /api/admin/role/list": asAdmin(reply((request) => ok(pageOf(request.url, users.roles)))),
    }),
    ...(form.manner === "openlist" && shares),
  };
}

/** One page of a list. `per_page` 0 or absent: all. */
function pageOf(
  url: string | undefined,
  all: readonly unknown[],
  most = Number.POSITIVE_INFINITY,
): { readonly content: readonly unknown[]; readonly total: number } {
  const query = new URL(url ?? "/", "http://site").searchParams;
  const page = Math.max(1, Number(query.get("page") ?? 1));
  const size = Math.min(Number(query.get("per_page") ?? 0) || all.length, most);
  return { content: all.slice((page - 1) * size, page * size), total: all.length };
}
