import { COMMON_BITS, type User, type UserFamily, type UserList } from "./user.ts";

/** Member of a user that can differ between servers. */
export type UserMember =
  | "base_path"
  | "roles"
  | "disabled"
  | "permissions"
  | "sso_id"
  | "allow_ldap";

/** Comparison of the users of one name on two servers. */
export interface UserComparison {
  readonly name: string;
  readonly state: "same" | "differs" | "missing" | "extra";
  /** Members with different values. */
  readonly differs: readonly UserMember[];
  /** The user on each server; undefined: the server does not have it. */
  readonly from: User | undefined;
  readonly to: User | undefined;
}

/** Compares the users of two servers by name, in the order of the first one. */
export function compareUsers(from: UserList, to: UserList): UserComparison[] {
  const ofTarget = new Map(to.users.map((user) => [user.name, user]));
  const namesOfSource = new Set(from.users.map(({ name }) => name));
  return [
    ...from.users.map((user): UserComparison => {
      const other = ofTarget.get(user.name);
      if (other === undefined)
        return { name: user.name, state: "missing", differs: [], from: user, to: undefined };
      const differs = differences(user, other, comparedBits(from.family, to.family));
      const state = differs.length === 0 ? "same" : "differs";
      return { name: user.name, state, differs, from: user, to: other };
    }),
    ...to.users.flatMap((user): UserComparison[] =>
      namesOfSource.has(user.name)
        ? []
        : [{ name: user.name, state: "extra", differs: [], from: undefined, to: user }],
    ),
  ];
}

const ALL_BITS = ~0;

/** Permission bits with the same meaning on both servers: all, if these are of one family. */
export function comparedBits(from: UserFamily, to: UserFamily): number {
  return from === to ? ALL_BITS : COMMON_BITS;
}

/** @param bits permission bits that are compared. */
function differences(a: User, b: User, bits: number): UserMember[] {
  /** Text that is equal for roles in any order. */
  const unordered = (roles: readonly string[]): string => JSON.stringify([...roles].sort());
  const checks: readonly (readonly [UserMember, boolean])[] = [
    ["base_path", a.basePath !== b.basePath],
    ["roles", unordered(a.roles) !== unordered(b.roles)],
    ["disabled", a.disabled !== b.disabled],
    ["permissions", ((a.permission ^ b.permission) & bits) !== 0],
    ["sso_id", a.ssoId !== b.ssoId],
    // Absent for a server that does not have the member.
    [
      "allow_ldap",
      a.allowLdap !== undefined && b.allowLdap !== undefined && a.allowLdap !== b.allowLdap,
    ],
  ];
  return checks.flatMap(([name, isDifferent]) => (isDifferent ? [name] : []));
}
