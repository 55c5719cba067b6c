import type { Text } from "../messages/message.ts";
import type { UserList } from "../users/user.ts";

/** Definition of a share of an OpenList. */
export interface Share {
  /** Last part of its address. */
  readonly id: string;
  /** Paths as the admin sees them. */
  readonly files: readonly string[];
  /** Secret; empty: none. */
  readonly password: string;
  /** Name of the user; empty: unknown. */
  readonly creator: string;
  /** RFC 3339; empty: it does not expire. */
  readonly expires: string;
  /** Number of accesses until now. */
  readonly accessed: number;
  /** 0: no maximum. */
  readonly maxAccessed: number;
  readonly disabled: boolean;
  /** The other members, as the server has them: remark, readme, header, sort. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** Folder rule of a server. */
export interface ServerRule {
  readonly path: string;
  /** The members as the server has them, without id, path and lists of users; `password` is secret. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Names of the users of each list of users (`read_users`, `write_users`). */
  readonly users: Readonly<Record<string, readonly string[]>>;
}

/** Names of the lists of a server. */
export const LISTS = ["users", "rules", "shares"] as const;
export type ListName = (typeof LISTS)[number];

/** List that could not be read. */
export interface ListFailure {
  readonly list: ListName;
  readonly reason: Text;
}

/** What a server has and Mooring does not manage, for backups. JSON. */
export interface ServerContents {
  /** Undefined: the list could not be read. */
  readonly users?: UserList;
  /** Folder rules that are not managed here. */
  readonly rules?: readonly ServerRule[];
  /** Empty for AList, which has none. */
  readonly shares?: readonly Share[];
}

/** Numbers of the entries of each list. */
export function countsOf({ users, rules = [], shares = [] }: ServerContents): {
  readonly users: number;
  readonly rules: number;
  readonly shares: number;
} {
  return { users: users?.users.length ?? 0, rules: rules.length, shares: shares.length };
}
