import { createRuleClient } from "../rules/site/client.ts";
import { createSiteUsers } from "../rules/site/row.ts";
import type { SiteClient } from "../sync/client.ts";
import { SiteFailure } from "../sync/failure.ts";
import { readPages } from "../sync/page.ts";
import { createUserClient, type ServerUser, type ServerUsers } from "../users/client.ts";
import type { UserList } from "../users/user.ts";
import type { ListFailure, ListName, ServerContents, ServerRule, Share } from "./contents.ts";

/** Maximum number of shares of a server. A longer list is a failure of the list. */
const MAX_SHARES = 10_000;

export interface ReadOptions {
  /** Ends the reading between two lists. */
  readonly signal?: AbortSignal;
}

/**
 * Reads what a server has and Mooring does not manage. A list that cannot be read is left out and
 * named in `failures`. Rules and shares contain passwords in clear.
 *
 * @param client of the site (`sync.clientOf`).
 * @param isManaged reports whether a folder rule is managed here, by its path.
 */
export async function readContents(
  client: SiteClient,
  isManaged: (path: string) => boolean,
  { signal }: ReadOptions = {},
): Promise<{ readonly contents: ServerContents; readonly failures: readonly ListFailure[] }> {
  const failures: ListFailure[] = [];
  const attempt = async <T>(list: ListName, read: () => Promise<T>): Promise<T | undefined> => {
    signal?.throwIfAborted();
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof SiteFailure)) throw error;
      failures.push({ list, reason: error.text });
      return undefined;
    }
  };
  const found = await attempt("users", () => createUserClient(client).list());
  const users = found && withoutIds(found);
  const rules = await attempt("rules", () => readRules(client, found?.users ?? []));
  const shares = await attempt("shares", async () =>
    users?.family === "alist" ? [] : readShares(client),
  );
  const contents = {
    ...(users && { users }),
    ...(rules && { rules: rules.filter(({ path }) => !isManaged(path)) }),
    ...(shares && { shares }),
  };
  return { contents, failures };
}

function withoutIds({ family, roles, users }: ServerUsers): UserList {
  return { family, roles, users: users.map(({ id: _id, ...user }) => user) };
}

const USER_LISTS = ["read_users", "write_users"] as const;

/**
 * All folder rules of a server.
 *
 * @param users of the server. An id without a user is kept as `#ID`: without it the rule would admit
 *   others.
 */
export async function readRules(
  client: SiteClient,
  users: readonly Pick<ServerUser, "id" | "name">[],
): Promise<ServerRule[]> {
  const { nameOf } = createSiteUsers(users);
  const rows = await createRuleClient(client).list();
  return rows.map(({ id: _id, path, read_users, write_users, ...members }) => {
    const ids = { read_users, write_users };
    const lists = USER_LISTS.flatMap((list) =>
      Array.isArray(ids[list]) ? [[list, ids[list].map(nameOf)] as const] : [],
    );
    return { path, members, users: Object.fromEntries(lists) };
  });
}

/** All shares of an OpenList: the token of an admin lists those of every user. */
export async function readShares(client: SiteClient): Promise<Share[]> {
  const rows = await readPages(client, "/api/share/list", {
    isRow: isShareRow,
    idOf: ({ id }) => id,
    most: MAX_SHARES,
  });
  return rows.map((row) => {
    const { id, files, pwd, creator, expires, accessed, max_accessed, disabled, ...rest } = row;
    const { creator_role: _role, ...others } = rest;
    return {
      id,
      files,
      password: pwd,
      creator,
      // Go's zero time counts as none.
      expires: expires === null || expires.startsWith("0001-") ? "" : expires,
      accessed,
      maxAccessed: max_accessed,
      disabled,
      rest: others,
    };
  });
}

/** Share as a server returns it. */
interface ShareRow {
  readonly id: string;
  readonly files: readonly string[];
  readonly pwd: string;
  readonly creator: string;
  readonly expires: string | null;
  readonly accessed: number;
  readonly max_accessed: number;
  readonly disabled: boolean;
  readonly [member: string]: unknown;
}

function isShareRow(value: unknown): value is ShareRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  return (
    ["id", "pwd", "creator"].every((name) => typeof row[name] === "string") &&
    Array.isArray(row["files"]) &&
    row["files"].every((file) => typeof file === "string") &&
    (row["expires"] === null || typeof row["expires"] === "string") &&
    ["accessed", "max_accessed"].every((name) => Number.isSafeInteger(row[name])) &&
    typeof row["disabled"] === "boolean"
  );
}
