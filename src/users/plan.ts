import { message, type Text } from "../messages/message.ts";
import type { ServerUser, ServerUsers, UserMembers } from "./client.ts";
import { comparedBits, compareUsers, type UserComparison, type UserMember } from "./compare.ts";
import {
  GENERAL,
  hasPathLimit,
  isBuiltIn,
  permissionNames,
  type Role,
  type User,
  type UserList,
} from "./user.ts";

/** Users that a copy concerns. */
export interface CopyChoice {
  /** Empty: all. */
  readonly names: readonly string[];
  /** Existing users that are replaced as a whole. */
  readonly update: readonly string[];
}

/**
 * What happens to one user.
 * - `created`, `updated`: written to the server.
 * - `same`: nothing differs. `kept`: it exists and is not to be updated.
 * - `skipped`: admin and guest, which every server has of its own.
 * - `refused`: not copied, for a reason that an operator can change. `failed`: the server refused it.
 */
export type CopyOutcome =
  | "created"
  | "updated"
  | "same"
  | "kept"
  | "skipped"
  | "refused"
  | "failed";

/** Plan for one user. */
export interface UserPlan {
  readonly name: string;
  readonly outcome: Exclude<CopyOutcome, "failed">;
  /** Empty: none. */
  readonly reason: Text;
  /** Members that differ from the user on the target. */
  readonly differs: readonly UserMember[];
  /** What is not carried to the target. */
  readonly lost: readonly Text[];
  /** For `created` and `updated`. */
  readonly write?: UserWrite;
}

/** A user as it is written: a new one with its role, or an existing one, whose role stays. */
export type UserWrite =
  | { readonly role: number | readonly number[]; readonly members: UserMembers }
  | { readonly existing: ServerUser; readonly members: UserMembers };

/**
 * Plans a copy of users, in the order of the source. No user gets more rights than on the source:
 * bits with another meaning are left out, and a user whose paths are limited by roles that the
 * target does not have is refused.
 *
 * @param from a server, or a backup of one. @param choice names that the source has.
 */
export function planCopy(from: UserList, to: ServerUsers, choice: CopyChoice): UserPlan[] {
  const named = new Set([...choice.names, ...choice.update]);
  const update = new Set(choice.update);
  const existing = new Map(to.users.map((user) => [user.name, user]));
  return compareUsers(from, to).flatMap((comparison): UserPlan[] => {
    const { name, from: user } = comparison;
    if (user === undefined) return [];
    if (choice.names.length > 0 && !named.has(name)) return [];
    const known = { isNamed: named.has(name), isUpdated: update.has(name) };
    const there = existing.get(name);
    return [
      there === undefined
        ? planCreate(user, from, to, known.isNamed)
        : planExisting(comparison, there, { user, from, to, ...known }),
    ];
  });
}

/** Names of a choice that the source does not have. */
export function unknownNames({ users }: UserList, { names, update }: CopyChoice): string[] {
  const known = new Set(users.map(({ name }) => name));
  return [...new Set([...names, ...update])].filter((name) => !known.has(name));
}

function planCreate(user: User, from: UserList, to: ServerUsers, isNamed: boolean): UserPlan {
  const { name } = user;
  if (isBuiltIn(user)) return builtIn(name, isNamed);
  const missing = user.roles.filter((role) => role !== GENERAL && !to.hasRole(role));
  const limit = lostLimit(user, from, to, missing);
  if (limit !== undefined) return refused(name, limit);
  const held = user.roles.filter((role) => !missing.includes(role));
  const members = membersFor(user, undefined, from, to);
  return {
    name,
    outcome: "created",
    reason: "",
    differs: [],
    lost: [message("USER_SECRETS_LOST"), ...lostOf(user, from, to, missing)],
    write: { role: to.roleValue(held.length === 0 ? [GENERAL] : held), members },
  };
}

function planExisting(
  { name, state, differs }: UserComparison,
  there: ServerUser,
  {
    user,
    from,
    to,
    isNamed,
    isUpdated,
  }: {
    readonly user: User;
    readonly from: UserList;
    readonly to: ServerUsers;
    readonly isNamed: boolean;
    readonly isUpdated: boolean;
  },
): UserPlan {
  if (isBuiltIn(user) || isBuiltIn(there)) {
    if (isBuiltIn(user) && isBuiltIn(there)) return { ...builtIn(name, isNamed), differs };
    return { ...refused(name, message("USER_BUILT_IN_THERE", { name })), differs };
  }
  if (state === "same") return { name, outcome: "same", reason: "", differs, lost: [] };
  if (!isUpdated) {
    const outcome = isNamed ? "refused" : "kept";
    return { name, outcome, reason: message("USER_EXISTS"), differs, lost: [] };
  }
  const roles = differs.includes("roles") ? user.roles : [];
  const missing = user.roles.filter((role) => !there.roles.includes(role));
  const limit = lostLimit(user, from, to, missing);
  if (limit !== undefined) return { ...refused(name, limit), differs };
  return {
    name,
    outcome: "updated",
    reason: "",
    differs,
    lost: [message("USER_PASSKEYS_LOST"), ...lostOf(user, from, to, roles)],
    write: { existing: there, members: membersFor(user, there, from, to) },
  };
}

function builtIn(name: string, isNamed: boolean): UserPlan {
  const outcome = isNamed ? "refused" : "skipped";
  return { name, outcome, reason: message("USER_BUILT_IN"), differs: [], lost: [] };
}

function refused(name: string, reason: Text): UserPlan {
  return { name, outcome: "refused", reason, differs: [], lost: [] };
}

/** Members of the user on the target. @param there the existing user, which keeps what is not carried. */
function membersFor(
  user: User,
  there: User | undefined,
  from: UserList,
  to: UserList,
): UserMembers {
  const bits = comparedBits(from.family, to.family);
  return {
    basePath: user.basePath,
    disabled: user.disabled,
    permission: (user.permission & bits) | ((there?.permission ?? 0) & ~bits),
    ssoId: user.ssoId,
    // Without a value a new user keeps the default of the server.
    allowLdap: to.family === "openlist" ? (user.allowLdap ?? there?.allowLdap) : undefined,
  };
}

function lostOf(user: User, from: UserList, to: UserList, missingRoles: readonly string[]): Text[] {
  const { permission } = user;
  const bits = permission & ~comparedBits(from.family, to.family);
  const changed = user.roles.filter(
    (name) => !missingRoles.includes(name) && differsIn(name, from, to),
  );
  return [
    ...(bits === 0
      ? []
      : [
          message("USER_PERMISSIONS_LOST", {
            permissions: permissionNames(bits, from.family).join(", "),
          }),
        ]),
    ...(missingRoles.length === 0
      ? []
      : [message("USER_ROLES_LOST", { roles: missingRoles.join(", ") })]),
    ...(changed.length === 0 ? [] : [message("USER_ROLES_DIFFER", { roles: changed.join(", ") })]),
    ...(user.allowLdap === false && to.family === "alist" ? [message("USER_LDAP_LOST")] : []),
  ];
}

/** Reports whether both servers define a role, with other rights. */
function differsIn(name: string, from: UserList, to: UserList): boolean {
  const [a, b] = [roleIn(from, name), roleIn(to, name)];
  return a !== undefined && b !== undefined && a.definition !== b.definition;
}

function roleIn({ roles }: UserList, name: string): Role | undefined {
  return roles.find((role) => role.name === name);
}

/** Reason for which the copy would reach paths that the user does not; undefined: none. */
function lostLimit(
  user: User,
  from: UserList,
  to: UserList,
  missingRoles: readonly string[],
): Text | undefined {
  const isLimited =
    hasPathLimit(user.permission, from.family) ||
    user.roles.some((name) => roleIn(from, name)?.limitsPaths === true);
  if (!isLimited) return undefined;
  if (to.family !== from.family) return message("USER_PATH_LIMIT_FAMILY");
  const changed = user.roles.filter((name) => differsIn(name, from, to));
  const lacking = [...new Set([...missingRoles, ...changed])];
  return lacking.length === 0
    ? undefined
    : message("USER_PATH_LIMIT_ROLES", { roles: lacking.join(", ") });
}
