/** Family of a server, as its users show it. */
export type UserFamily = "openlist" | "alist";

/** Account of a server. It never has a password: servers return none. */
export interface User {
  readonly name: string;
  /** Folder that is the user's root. */
  readonly basePath: string;
  /** Names of its roles. */
  readonly roles: readonly string[];
  readonly disabled: boolean;
  /** Bits of its rights. The meaning of bits from 14 on differs between the families. */
  readonly permission: number;
  /** Id at the platform for single sign-on; empty: none. */
  readonly ssoId: string;
  /** Undefined: the server has no such member. */
  readonly allowLdap: boolean | undefined;
}

/** Role of an AList. */
export interface Role {
  readonly name: string;
  /** Its rights and paths as JSON, without id, name and description. */
  readonly definition: string;
  /** Whether it limits its users to some paths. */
  readonly limitsPaths: boolean;
}

/** All users of a server. */
export interface UserList {
  readonly family: UserFamily;
  readonly users: readonly User[];
  /** Roles that are defined on the server; empty on OpenList. */
  readonly roles: readonly Role[];
}

/** Roles that every server has. `admin` and `guest` exist once and cannot be created. */
export const GENERAL = "general";
export const GUEST = "guest";
export const ADMIN = "admin";

/** Reports whether the user is the admin or the guest, which every server has of its own. */
export function isBuiltIn({ roles }: Pick<User, "roles">): boolean {
  return roles.includes(ADMIN) || roles.includes(GUEST);
}

/** Names of the permission bits that mean the same in both families, from bit 0. */
export const PERMISSIONS = [
  "see_hidden",
  "no_password",
  "offline_download",
  "write",
  "rename",
  "move",
  "copy",
  "remove",
  "webdav_read",
  "webdav_write",
  "ftp_read",
  "ftp_write",
  "read_archives",
  "decompress",
] as const;

/** Permission bits from 14 on by family: they are not carried to the other one. */
const OWN_PERMISSIONS: Readonly<Record<UserFamily, readonly string[]>> = {
  openlist: ["share", "share_custom_id"],
  alist: ["path_limit"],
};

/** Mask of the bits that mean the same in both families. */
export const COMMON_BITS = 2 ** PERMISSIONS.length - 1;

/** Names of the bits of a permission; `bit_N` for a bit without a known meaning. */
export function permissionNames(permission: number, family: UserFamily): string[] {
  const known = [...PERMISSIONS, ...OWN_PERMISSIONS[family]];
  return Array.from({ length: 32 }, (_, bit) => bit)
    .filter((bit) => ((permission >>> bit) & 1) === 1)
    .map((bit) => known[bit] ?? `bit_${bit}`);
}

/** Bit of AList that confines a user, or a holder of a role, to the paths of its roles. */
const PATH_LIMIT = 1 << 14;

/** Reports whether a permission has AList's limit to the paths of roles. */
export function hasPathLimit(permission: number, family: UserFamily): boolean {
  return family === "alist" && (permission & PATH_LIMIT) !== 0;
}
