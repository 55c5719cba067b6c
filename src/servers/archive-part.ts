import {
  type ArchiveEntry,
  chosenOf,
  type EntryResult,
  entryResult,
  type ImportContext,
  type StorePart,
} from "../archive/part.ts";
import { errorText } from "../error-text.ts";
import { ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import { changedMembers } from "../sites/registry.ts";
import { changesAccess, type Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { ServerContents, ServerRule } from "./contents.ts";
import type { ReadOptions } from "./read.ts";
import type { EntryResult as RestoredEntry } from "./restore.ts";
import { parseContents } from "./saved.ts";
import type { ServerService } from "./service.ts";

/** Maximum number of servers of an import, equal to that of sites. */
const MAX_SERVERS = 1_000;
/** Number of servers that are read at the same time. */
const CONCURRENCY = 8;
/** Time limit for reading all servers, in milliseconds: one that does not answer must not hold up the others. */
const READ_TIMEOUT = 60_000;

/** Secret of an entry: users, rules and shares of a server as JSON. */
const CONTENTS = "contents";

export interface ServerPartDeps {
  /** Undefined: a command on the database itself calls no server. */
  readonly servers: Pick<ServerService, "read" | "restore"> | undefined;
  readonly sites: () => readonly Site[];
  /** Names of the sites, with those that an import creates. */
  readonly siteNames: (context?: ImportContext) => SiteNames;
  /** Sites of an import, as they are at its end. */
  readonly plannedBy: (context: ImportContext) => readonly Site[];
  /** Pauses a site until its server has its folder rules. */
  readonly hold: (context: ImportContext, name: string) => Promise<void>;
  /** Resumes a site that an earlier import has paused. */
  readonly release: (context: ImportContext, name: string) => Promise<void>;
}

/**
 * Unmanaged contents of servers in backups: one entry for each site. All of it is one
 * sealed secret, because it has passwords of shares and personal data. A restore creates what is missing
 * on a server, and changes nothing that exists there.
 */
export function createServerPart(deps: ServerPartDeps): StorePart {
  const { servers } = deps;
  return {
    kind: "store",
    name: "servers",
    isOfServers: true,
    exportScope: "users:read",
    // The contents of a document are not bound to a server: they could be of an administrator.
    importNeedsRoot: true,
    most: MAX_SERVERS,
    export: async ({ grant, names, withSecrets, signal }) => {
      const sites = chosenOf(deps.sites(), names).toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const isShown = withSecrets && grant.isRoot;
      const failed: { readonly name: string; readonly reason: string }[] = [];
      const entries: ArchiveEntry[] = [];
      if (servers === undefined) {
        const reason = String(message("SERVERS_NEED_SERVICE"));
        return { entries, failed: sites.map(({ name }) => ({ name, reason })) };
      }
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(new Error("not read in time")), READ_TIMEOUT);
      const until = AbortSignal.any([limit.signal, ...(signal === undefined ? [] : [signal])]);
      try {
        await inGroups(sites, async ({ name }) => {
          const read = await readServer(servers, name, { signal: until });
          signal?.throwIfAborted();
          if ("reason" in read) failed.push({ name, reason: read.reason });
          else {
            entries.push(toEntry(name, read.contents, isShown));
            failed.push(
              ...read.failures.map((each) => ({ ...each, name: `${name} ${each.name}` })),
            );
          }
        });
      } finally {
        clearTimeout(timer);
      }
      return { entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)), failed };
    },
    write: async ({ entries = [] }, context) => {
      const results: EntryResult[] = [];
      for (const entry of entries) {
        context.signal?.throwIfAborted();
        results.push(...(await restore(entry, context)));
      }
      return results;
    },
  };

  /** Results have the name of the site that is restored to, which may differ from that in the backup. */
  async function restore(entry: ArchiveEntry, context: ImportContext): Promise<EntryResult[]> {
    const name = context.choices.siteNames.get(entry.name) ?? entry.name;
    const skip = (note: Text) => [entryResult(name, "skipped", { note })];
    const text = ownValue(entry.secrets, CONTENTS);
    if (typeof text !== "string") return skip(message("SERVER_CONTENT_SEALED"));
    const contents = parseContents(text);
    const names = deps.siteNames(context);
    if (contents === undefined) return skip(message("SERVER_CONTENT_INVALID"));
    if (names.idOf(name) === undefined) return skip(names.problemOf(name) ?? "");
    const stored = deps.sites().find((site) => site.name === name);
    // A site that the import resumes at its end gets its contents before.
    const target = deps.plannedBy(context).find((site) => site.name === name) ?? stored;
    const isAwaited = (target?.restoring ?? 0) > 0;
    if (target?.paused === true && !isAwaited) return skip(message("SERVER_CONTENT_PAUSED"));
    // A dry run calls no server that the import itself only begins to call.
    const isPlanned = context.dryRun && !isCalledAlready(stored, target);
    if (isPlanned || (servers === undefined && context.dryRun))
      return [
        entryResult(name, "created", {
          note: message("SERVER_CONTENT_PLANNED", countsOf(contents)),
        }),
      ];
    if (servers === undefined) return skip(message("SERVERS_NEED_SERVICE"));
    const mustHaveRules = target?.mode === "follow" && (contents.rules ?? []).some(limits);
    const { origin } = context.caller;
    const signal = context.signal ?? new AbortController().signal;
    const passwords = { all: "", byName: {}, random: true };
    try {
      const restored = await servers.restore(
        { site: entry.name, contents },
        name,
        { passwords, dryRun: context.dryRun },
        { origin, signal },
      );
      context.onStored?.(name);
      const isFailed = restored.some(
        ({ list, outcome }) => list === "rules" && outcome === "failed",
      );
      if (isFailed && mustHaveRules) await deps.hold(context, name);
      else if (isAwaited) await deps.release(context, name);
      return restored.map((each) => toResult(name, each));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const reason = error.text;
      if (!mustHaveRules) return skip(message("SERVER_CONTENT_AWAY", { reason }));
      await deps.hold(context, name);
      return skip(message("SERVER_RULES_AWAY", { reason }));
    }
  }
}

type ReadServer =
  | { readonly reason: string }
  | {
      readonly contents: ServerContents;
      readonly failures: readonly { readonly name: string; readonly reason: string }[];
    };

async function readServer(
  servers: Pick<ServerService, "read">,
  site: string,
  options: ReadOptions,
): Promise<ReadServer> {
  try {
    const { contents, failures } = await servers.read(site, options);
    const failed = failures.map(({ list, reason }) => ({ name: list, reason: String(reason) }));
    const [first] = failed;
    if (first !== undefined && Object.keys(contents).length === 0) return { reason: first.reason };
    return { contents, failures: failed };
  } catch (error) {
    return { reason: errorText(error) };
  }
}

function toEntry(name: string, contents: ServerContents, isShown: boolean): ArchiveEntry {
  return {
    name,
    content: {
      family: contents.users?.family ?? "",
      ...countsOf(contents),
    },
    secrets: isShown ? { [CONTENTS]: JSON.stringify(contents) } : {},
    missing: isShown ? [] : [CONTENTS],
    isSealed: false,
  };
}

/** Numbers of the entries of each list. */
function countsOf({ users, rules = [], shares = [] }: ServerContents): {
  readonly users: number;
  readonly rules: number;
  readonly shares: number;
} {
  return { users: users?.users.length ?? 0, rules: rules.length, shares: shares.length };
}

/** Reports whether a rule of a server limits what visitors can read or see. */
function limits({ members, users }: ServerRule): boolean {
  const isSet = (name: string): boolean => ![undefined, null, ""].includes(members[name] as null);
  return ["password", "hide"].some(isSet) || Object.values(users).some((list) => list.length > 0);
}

/** Reports whether Mooring calls the server of a site before an import. */
function isCalledAlready(stored: Site | undefined, target: Site | undefined): boolean {
  if (stored === undefined || stored.paused) return false;
  return target === undefined || !changesAccess(changedMembers(stored, target));
}

/** Outcomes of users, rules and shares that a restore leaves unchanged. */
const UNCHANGED: ReadonlySet<string> = new Set(["kept", "same", "skipped"]);

function toResult(site: string, { list, name, outcome, ...rest }: RestoredEntry): EntryResult {
  const { reason, lost, notes, password } = rest;
  const texts = [reason, ...lost, ...notes].filter((text) => text !== "");
  const [only] = texts;
  const note = texts.length === 1 && only !== undefined ? only : texts.map(String).join("; ");
  const isDone = outcome === "created" || outcome === "updated";
  const result = entryResult(
    `${site} ${list} ${name}`,
    isDone ? "created" : UNCHANGED.has(outcome) ? "unchanged" : "skipped",
    { note, isLoss: !UNCHANGED.has(outcome) && (!isDone || lost.length > 0) },
  );
  return password === "" ? result : { ...result, password };
}

/** Runs work on all items, a few at a time. */
async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
