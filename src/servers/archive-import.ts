import {
  type ArchiveEntry,
  type EntryResult,
  entryResult,
  type ImportContext,
} from "../archive/part.ts";
import { ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import { changedMembers } from "../sites/registry.ts";
import { changesAccess, type Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { countsOf, type ServerRule } from "./contents.ts";
import type { EntryResult as RestoredEntry } from "./restore.ts";
import { CONTENTS, parseContents } from "./saved.ts";
import type { ServerService } from "./service.ts";

export interface ServerImportDeps {
  /** Undefined: a command on the database itself calls no server. */
  readonly servers: Pick<ServerService, "restore"> | undefined;
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
 * Restores the contents of one server.
 *
 * @returns results with the name of the site that is restored to, which may differ from that in the
 *   backup.
 */
export async function restoreServer(
  deps: ServerImportDeps,
  entry: ArchiveEntry,
  context: ImportContext,
): Promise<EntryResult[]> {
  const { servers } = deps;
  const name = context.choices.siteNames.get(entry.name) ?? entry.name;
  const skip = (note: Text) => [entryResult(name, "skipped", { note })];
  const text = ownValue(entry.secrets, CONTENTS);
  const contents = typeof text === "string" ? parseContents(text) : undefined;
  const names = deps.siteNames(context);
  const stored = deps.sites().find((site) => site.name === name);
  // A site that the import resumes at its end gets its contents before.
  const target = deps.plannedBy(context).find((site) => site.name === name) ?? stored;
  const isAwaited = (target?.restoring ?? 0) > 0;
  const isPaused = target?.paused === true && !isAwaited;
  const isCalled = isCalledAlready(stored, target);
  if (contents === undefined) {
    const isSealed = typeof text !== "string";
    const mayLimit = entry.content["rules"] !== 0;
    const beginsToFollow = target?.mode === "follow" && !isPaused && !isCalled;
    if (!(beginsToFollow && mayLimit))
      return skip(message(isSealed ? "SERVER_CONTENT_SEALED" : "SERVER_CONTENT_INVALID"));
    await deps.hold(context, name);
    return skip(message(isSealed ? "SERVER_RULES_SEALED" : "SERVER_RULES_INVALID"));
  }
  if (names.idOf(name) === undefined) return skip(names.problemOf(name) ?? "");
  if (isPaused) return skip(message("SERVER_CONTENT_PAUSED"));
  // A dry run calls no server that the import itself only begins to call.
  const isPlanned = context.dryRun && !isCalled;
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
    const isFailed = restored.some(({ list, outcome }) => list === "rules" && outcome === "failed");
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
