import { message, type Text } from "../messages/message.ts";
import { createRuleClient } from "../rules/site/client.ts";
import { onSite } from "../sites/on-site.ts";
import type { SiteClient } from "../sync/client.ts";
import { SiteFailure } from "../sync/failure.ts";
import { createUserClient, type ServerUsers } from "../users/client.ts";
import type { UserResult } from "../users/copy.ts";
import type { UserCall } from "../users/service.ts";
import type { ListName, ServerContents, ServerRule, Share } from "./contents.ts";
import { readRules, readShares } from "./read.ts";

/** Result of a restore for one user, rule (its path) or share (its id). */
export interface EntryResult
  extends Pick<UserResult, "name" | "outcome" | "reason" | "lost" | "notes" | "password"> {
  readonly list: ListName;
}

/** An entry that is missing on the server. */
interface Missing {
  readonly list: ListName;
  readonly name: string;
  /** Reason for which it cannot be created; empty: none. */
  readonly refusal: Text;
  readonly create: () => Promise<unknown>;
}

/**
 * Creates folder rules and shares that a server does not have.
 *
 * @param restored results of the users, which were created before.
 */
export async function restoreEntries(
  client: SiteClient,
  { rules = [], shares = [] }: ServerContents,
  restored: readonly UserResult[],
  {
    dryRun,
    isManaged,
    manageRules,
  }: {
    readonly dryRun: boolean;
    readonly isManaged: (path: string) => boolean;
    /** Permits Mooring to write its folder rules to the server. */
    readonly manageRules: () => Promise<void>;
  },
  { signal }: Pick<UserCall, "signal">,
): Promise<EntryResult[]> {
  if (rules.length + shares.length === 0) return [];
  const users = await onSite(createUserClient(client).list());
  // Users of a dry run do not exist yet.
  const names = new Set([
    ...users.users.map(({ name }) => name),
    ...restored.flatMap(({ name, outcome }) => (outcome === "created" ? [name] : [])),
  ]);
  // A managed rule is brought to the server by its site, with the values of today.
  const ownRules = rules.filter(({ path }) => !isManaged(path));
  const existingRules = new Set(
    rules.length === 0 ? [] : (await onSite(readRules(client, []))).map(({ path }) => path),
  );
  const existingShares = new Set(
    shares.length === 0 || users.family === "alist"
      ? []
      : (await onSite(readShares(client))).map(({ id }) => id),
  );
  const missing = [
    ...ownRules
      .filter(({ path }) => !existingRules.has(path))
      .map((rule) => ruleEntry(client, rule, users, names)),
    ...shares
      .filter(({ id }) => !existingShares.has(id))
      .map((share) => shareEntry(client, share, users, names)),
  ];
  const kept = [
    ...rules.flatMap(({ path }) => {
      if (isManaged(path))
        return [{ ...keptEntry("rules", path), reason: message("RULE_IS_MANAGED") }];
      return existingRules.has(path) ? [keptEntry("rules", path)] : [];
    }),
    ...shares.flatMap(({ id }) => (existingShares.has(id) ? [keptEntry("shares", id)] : [])),
  ];
  // Its own rules would be kept back from a server that has others.
  if (!dryRun && ownRules.length > 0 && existingRules.size === 0) await manageRules();
  const results = [...kept];
  for (const entry of missing) results.push(await restoreEntry(entry, dryRun, signal));
  return dryRun ? results : clearCaches(client, results);
}

async function restoreEntry(
  { list, name, refusal, create }: Missing,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<EntryResult> {
  const result = { list, name, reason: refusal, lost: [], notes: [], password: "" };
  if (refusal !== "") return { ...result, outcome: "refused" };
  if (dryRun) return { ...result, outcome: "created" };
  if (signal.aborted) return { ...result, outcome: "failed", reason: message("USER_COPY_ENDED") };
  try {
    await create();
    return { ...result, outcome: "created" };
  } catch (error) {
    if (!(error instanceof SiteFailure)) throw error;
    return { ...result, outcome: "failed", reason: error.text };
  }
}

/**
 * Sends created rules once more, which clears the cache of the server: see rules/site/apply.ts.
 *
 * @returns the results, with a note about each rule that could not be sent.
 */
async function clearCaches(
  site: SiteClient,
  results: readonly EntryResult[],
): Promise<EntryResult[]> {
  const isCreated = ({ list, outcome }: EntryResult): boolean =>
    list === "rules" && outcome === "created";
  const left = new Set(results.filter(isCreated).map(({ name }) => name));
  if (left.size === 0) return [...results];
  const client = createRuleClient(site);
  try {
    for (const row of await client.list()) {
      if (!left.has(row.path)) continue;
      const { password } = row;
      const secrets = typeof password === "string" && password !== "" ? [password] : [];
      await client.update(row.id, row, secrets);
      left.delete(row.path);
    }
    return [...results];
  } catch (error) {
    if (!(error instanceof SiteFailure)) throw error;
    const notes = [message("RULE_CACHE_KEPT", { reason: error.text })];
    return results.map((result) =>
      isCreated(result) && left.has(result.name) ? { ...result, notes } : result,
    );
  }
}

function keptEntry(list: ListName, name: string): EntryResult {
  return { list, name, outcome: "kept", reason: "", lost: [], notes: [], password: "" };
}

function ruleEntry(
  client: SiteClient,
  { path, members, users: lists }: ServerRule,
  { users, family }: ServerUsers,
  names: ReadonlySet<string>,
): Missing {
  const unknown = Object.values(lists)
    .flat()
    .filter((name) => !names.has(name));
  const isListed = Object.values(lists).some((list) => list.length > 0);
  return {
    list: "rules",
    name: path,
    refusal:
      isListed && family === "alist"
        ? message("RULE_USERS_UNKNOWN_FAMILY")
        : unknown.length > 0
          ? message("RULE_USERS_MISSING", { names: [...new Set(unknown)].join(", ") })
          : "",
    create: async () => {
      const ids = new Map(users.map(({ id, name }) => [name, id]));
      const ofUsers = Object.entries(lists).map(([list, of]) => [
        list,
        of.map((name) => ids.get(name)),
      ]);
      const body = { ...members, path, ...Object.fromEntries(ofUsers) };
      const secrets = typeof members["password"] === "string" ? [members["password"]] : [];
      await createRuleClient(client).create(body, secrets);
    },
  };
}

function shareEntry(
  client: SiteClient,
  share: Share,
  { family }: ServerUsers,
  names: ReadonlySet<string>,
): Missing {
  const { id, files, password, creator, expires, accessed, maxAccessed, disabled, rest } = share;
  return {
    list: "shares",
    name: id,
    refusal:
      family === "alist"
        ? message("SHARES_UNKNOWN_FAMILY")
        : names.has(creator)
          ? ""
          : message("SHARE_CREATOR_MISSING", { creator }),
    create: () =>
      client.call(
        "POST",
        "/api/share/create",
        {
          ...rest,
          id,
          files,
          creator,
          accessed,
          disabled,
          pwd: password,
          expires: expires === "" ? null : expires,
          max_accessed: maxAccessed,
        },
        { secrets: [password] },
      ),
  };
}
