import {
  type ArchiveEntry,
  type EntryResult,
  entryResult,
  type ImportContext,
  keepsSecrets,
  type NewServer,
} from "../../archive/part.ts";
import type { Effect } from "../../history/effect.ts";
import { ServiceError } from "../../messages/error.ts";
import { message, type Text } from "../../messages/message.ts";
import type { SettingDefinition } from "../../settings/definition.ts";
import { type SiteInput, sentSecrets, withInput } from "../input.ts";
import type { EffectsOnRecords } from "../record-effect.ts";
import { changedMembers, type SiteRegistry } from "../registry.ts";
import {
  changesAccess,
  followsTooEarly,
  MAX_SITES,
  NEW_SITE,
  NEW_STATE,
  type Site,
} from "../site.ts";
import { addressOf } from "../stored-site.ts";
import { fromEntry, memberName } from "./entry.ts";
import { replacedSecrets, withStoredSecrets } from "./stored-secret.ts";

export interface SitePlanDeps {
  readonly registry: Pick<SiteRegistry, "sites" | "state">;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  /** Reports whether a setting is a secret. */
  readonly isSecret: (key: string) => boolean;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  /** Effects on the records of each kind. */
  readonly effects: readonly Pick<EffectsOnRecords, "affected">[];
  /** File that declares a site; undefined: clients may change it. */
  readonly managedBy: (name: string) => string | undefined;
  readonly now: () => number;
  /** A new id of a site. */
  readonly newId: () => string;
}

/** Planned change of a site by one entry of an archive. */
export interface SitePlan {
  readonly result: EntryResult;
  /** Site after the import; undefined: it stays as it is, or is not imported. */
  readonly site?: Site;
  /** Undefined: it is new. */
  readonly before?: Site | undefined;
  /** Names of the changed members. */
  readonly changed: readonly string[];
}

/** Token of a site without one while its other members are checked. */
const PLACEHOLDER = "-";

/** @param planned - sites that the import creates besides. */
export function planSite(
  deps: SitePlanDeps,
  entry: ArchiveEntry,
  context: ImportContext,
  planned: readonly Site[],
): SitePlan {
  const { registry, isSecret } = deps;
  const { siteNames } = context.choices;
  const name = siteNames.get(entry.name) ?? entry.name;
  const before = registry.sites().find((site) => site.name === name);
  if (siteNames.has(entry.name) && before !== undefined && before.name !== entry.name)
    return skipped(entry, message("SITE_STANDS_FOR", { name }), { isLoss: false });
  const server = context.choices.newServers?.get(entry.name);
  const given = fromEntry(onServer(entry, server), before, isSecret);
  if ("problem" in given) return skipped(entry, given.problem);
  const base = before ?? { ...NEW_SITE, id: deps.newId(), created: given.created ?? deps.now() };
  const { isRoot } = context.caller.grant;
  const { input, kept } =
    before !== undefined && keepsSecrets(context.choices)
      ? withStoredSecrets(before, given.input, {
          isRoot,
          isSecret,
          hasNewServer: server !== undefined,
        })
      : { input: given.input, kept: [] };
  const applied = applyInput(deps, base, { ...input, name }, { before, context });
  if ("problem" in applied) return skipped(entry, applied.problem);
  const { site, hasNoToken, isEarly } = applied;
  const others = [...registry.sites(), ...planned].filter(({ id }) => id !== site.id);
  const problem = problemAmong(others, site, { entry, isNew: before === undefined });
  if (problem !== undefined) return skipped(entry, problem);
  // A sent secret counts as changed for a caller who may not read the stored one.
  const isReadable = before === undefined || isRoot;
  const sent = isReadable ? [] : sentSecrets(before, input, isSecret);
  const changed = before === undefined ? [] : changedMembers(before, site, sent);
  const file = context.choices.declared?.file === undefined ? deps.managedBy(name) : undefined;
  if (file !== undefined && changed.length > 0)
    return skipped(entry, message("MANAGED_BY_FILE", { file }));
  const outcome = before === undefined ? "created" : changed.length > 0 ? "changed" : "unchanged";
  const result = entryResult(entry.name, outcome, {
    differs: changed.filter((name) => name !== "restoring").map(memberName),
    missing: given.missing,
    leftOut: isEarly ? ["mode"] : [],
    kept,
    replacedSecrets: before === undefined ? [] : replacedSecrets(before, site, sent, isSecret),
    effects: effectsOf(deps, before, site),
    isGuess: sent.length > 0,
    note: noteOf({
      otherName: name === entry.name ? undefined : name,
      hasNoToken,
      isEarly,
      excluded: given.excluded,
    }),
  });
  return { site, before, changed, result };
}

/** Entry with the access to the server that takes the place of a lost one. */
function onServer(entry: ArchiveEntry, server: NewServer | undefined): ArchiveEntry {
  if (server === undefined) return entry;
  const { certificate: _ca, certificateSha256: _pin, ...content } = entry.content;
  return {
    ...entry,
    content: { ...content, url: server.url },
    secrets: { ...entry.secrets, token: server.token },
    missing: entry.missing.filter((name) => name !== "token"),
  };
}

function skipped(entry: ArchiveEntry, note: Text, { isLoss = true } = {}): SitePlan {
  return { result: entryResult(entry.name, "skipped", { note, isLoss }), changed: [] };
}

/** A site with the members of an entry, checked as those of a call. */
function applyInput(
  { registry, definitionOf, maxValueBytes, isSecret }: SitePlanDeps,
  base: Site,
  input: SiteInput,
  { before, context }: { readonly before: Site | undefined; readonly context: ImportContext },
):
  | { readonly site: Site; readonly hasNoToken: boolean; readonly isEarly: boolean }
  | { readonly problem: Text } {
  const { isRoot } = context.caller.grant;
  const hasNoToken = base.token === "" && input.token === undefined;
  const isPaused = context.choices.pauseSites ? (before?.paused ?? true) : input.paused;
  // The settings of a site without a token are compared before anything is written.
  const given = hasNoToken ? { token: PLACEHOLDER, paused: true } : { paused: isPaused };
  try {
    const checked = withInput(
      base,
      { ...input, ...given },
      {
        definitionOf,
        maxValueBytes,
        // Keys of the server and of settings of the same archive are not known yet.
        keys: new Set(Object.keys(input.overrides ?? {})),
        // As in exports: only the permanent token reads secrets of sites.
        mayRedirect: (key) => isRoot || !isSecret(key),
        mayRetrust: isRoot,
      },
    );
    const isMoved = before !== undefined && changesAccess(changedMembers(before, checked));
    // On another server it is as a new site.
    const paused = checked.paused || (isMoved && context.choices.pauseSites);
    const site = { ...checked, paused, ...(hasNoToken && { token: "" }) };
    const state = before === undefined ? NEW_STATE : registry.state(before.id);
    // The permanent token restores a site as it was; others compare it first, as in calls.
    const isRestored = isRoot && before === undefined;
    const isEarly = !isRestored && followsTooEarly(before, site, state);
    const mode = isEarly ? base.mode : site.mode;
    return { site: Object.freeze({ ...site, mode }), hasNoToken, isEarly };
  } catch (error) {
    if (error instanceof ServiceError) return { problem: error.text };
    throw error;
  }
}

/** Problem of a site beside the others. */
function problemAmong(
  others: readonly Site[],
  site: Site,
  { entry, isNew }: { readonly entry: ArchiveEntry; readonly isNew: boolean },
): Text | undefined {
  const address = addressOf(site.url);
  const same = others.find(({ url }) => addressOf(url) === address);
  if (same !== undefined)
    return message("SITE_ADDRESS_TAKEN_IN_IMPORT", { name: same.name, old: entry.name });
  return isNew && others.length >= MAX_SITES
    ? message("TOO_MANY_SITES", { most: MAX_SITES })
    : undefined;
}

function effectsOf(
  { effects }: Pick<SitePlanDeps, "effects">,
  before: Site | undefined,
  after: Site,
): Effect[] {
  const begins = isFollowing(after) && (before === undefined || !isFollowing(before));
  const onRecords =
    before === undefined ? [] : effects.flatMap((kind) => kind.affected(before, after));
  return [
    ...(begins ? [{ action: "follow", site: after.name, kind: "", path: "" } as const] : []),
    ...onRecords.flatMap((record) => record.effects ?? []),
  ];
}

function isFollowing({ mode, paused, token }: Site): boolean {
  return mode === "follow" && !paused && token !== "";
}

function noteOf({
  otherName,
  hasNoToken,
  isEarly,
  excluded,
}: {
  /** Name of the site here, if it has another one in the archive. */
  readonly otherName: string | undefined;
  readonly hasNoToken: boolean;
  readonly isEarly: boolean;
  readonly excluded: readonly string[];
}): Text {
  const notes: Text[] = [];
  if (otherName !== undefined) notes.push(message("SITE_CREATED_AS", { name: otherName }));
  if (hasNoToken) notes.push(message("SITE_WITHOUT_TOKEN"));
  if (isEarly) notes.push(message("SITE_NOT_COMPARED"));
  if (excluded.length > 0) notes.push(message("SITE_KEYS_EXCLUDED", { keys: excluded.join(", ") }));
  const [first = "", ...rest] = notes;
  return rest.reduce<Text>((text, note) => message("NOTES", { first: text, second: note }), first);
}
