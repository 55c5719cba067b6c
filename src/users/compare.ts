import { COMMON_BITS, type User, type UserFamily, type UserList } from "./user.ts";

/** Member of a user that can differ between servers. */
export type UserMember =
  | "base_path"
  | "roles"
  | "disabled"
  | "permissions"
  | "sso_id"
  | "allow_ldap";

/** A user of two servers. */
export interface UserComparison {
  readonly name: string;
  readonly state: "same" | "differs" | "missing" | "extra";
  /** Members with different values. */
  readonly differs: readonly UserMember[];
  /** Undefined: the server does not have the user. */
  readonly from: User | undefined;
  readonly to: User | undefined;
}

/** Compares the users of two servers by name, in the order of the first one. */
export function compareUsers(from: UserList, to: UserList): UserComparison[] {
  const there = new Map(to.users.map((user) => [user.name, user]));
  const here = new Set(from.users.map(({ name }) => name));
  return [
    ...from.users.map((user): UserComparison => {
      const other = there.get(user.name);
      if (other === undefined)
        return { name: user.name, state: "missing", differs: [], from: user, to: undefined };
      const differs = differences(user, other, comparedBits(from.family, to.family));
      const state = differs.length === 0 ? "same" : "differs";
      return { name: user.name, state, differs, from: user, to: other };
    }),
    ...to.users.flatMap((user): UserComparison[] =>
      here.has(user.name)
        ? []
        : [{ name: user.name, state: "extra", differs: [], from: undefined, to: user }],
    ),
  ];
}

/** Permission bits with the same meaning on both servers. */
export function comparedBits(from: UserFamily, to: UserFamily): number {
  return from === to ? -1 : COMMON_BITS;
}

function differences(a: User, b: User, bits: number): UserMember[] {
  const isSet = (roles: readonly string[]): string => JSON.stringify([...roles].sort());
  const checks: readonly (readonly [UserMember, boolean])[] = [
    ["base_path", a.basePath !== b.basePath],
    ["roles", isSet(a.roles) !== isSet(b.roles)],
    ["disabled", a.disabled !== b.disabled],
    ["permissions", ((a.permission ^ b.permission) & bits) !== 0],
    ["sso_id", a.ssoId !== b.ssoId],
    [
      "allow_ldap",
      a.allowLdap !== undefined && b.allowLdap !== undefined && a.allowLdap !== b.allowLdap,
    ],
  ];
  return checks.flatMap(([name, isDifferent]) => (isDifferent ? [name] : []));
}
