import { readMembers, timeMember } from "../archive/member.ts";
import {
  type ArchiveEntry,
  chosenOf,
  type EntryResult,
  entryResult,
  type ImportContext,
  type SecretValue,
  type StorePart,
} from "../archive/part.ts";
import { doneEntry } from "../audit/entry.ts";
import { mapWriteError } from "../database/error.ts";
import type { Effect } from "../history/effect.ts";
import { ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { ownValue, setOwn } from "../own-value.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { MASK } from "../settings/value.ts";
import { createTicks } from "../ticks.ts";
import { type SiteInput, sentSecrets, withInput } from "./input.ts";
import type { EffectsOnRecords } from "./record-effect.ts";
import { addressOf, changedMembers, type SiteRegistry } from "./registry.ts";
import {
  followsTooEarly,
  MAX_SITES,
  NEW_SITE,
  NEW_STATE,
  type Site,
  type SiteMode,
} from "./site.ts";
import { createSiteNames, type SiteNames } from "./site-names.ts";

export interface SitePartDeps {
  readonly registry: Pick<
    SiteRegistry,
    "sites" | "state" | "load" | "insert" | "update" | "clearError" | "names"
  >;
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

/** Sites in archives. */
export interface SitePart extends StorePart {
  /** Names of the sites; during an import with those that it creates. */
  names(context?: ImportContext): SiteNames;
  /** Sites that an import creates, as they are at its end. */
  createdBy(context: ImportContext): readonly Site[];
}

/**
 * Sites in archives: address, certificate, mode, keys and overrides, with the token as a secret. New
 * sites are created paused, and existing ones are changed after all other parts: no server gets
 * anything before the whole import is stored. No server is called.
 */
export function createSitePart(deps: SitePartDeps): SitePart {
  const { registry } = deps;
  /** Sites that an import creates. */
  const created = new WeakMap<ImportContext, Site[]>();
  /** Ids of the sites of an import, by the names of their entries; without those that it skips. */
  const imported = new WeakMap<ImportContext, Map<string, string>>();
  const names: SitePart["names"] = (context) => {
    const known = registry.names();
    const planned = (context === undefined ? undefined : created.get(context)) ?? [];
    const missing = planned.filter(({ name }) => known.idOf(name) === undefined);
    return missing.length === 0 ? known : createSiteNames([...registry.sites(), ...missing]);
  };
  return {
    kind: "store",
    name: "sites",
    exportScope: "sites:read",
    // As CreateSite and UpdateSite: values and mounts of Mooring are sent to the address of a site.
    importScopes: ["sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal"],
    most: MAX_SITES,
    names,
    createdBy: (context) => created.get(context) ?? [],
    export: async ({ grant, names: asked, withSecrets }) => {
      await mapWriteError(registry.load());
      // A token of a server has every right there: only the permanent token reads it.
      const isShown = withSecrets && grant.isRoot;
      return {
        entries: chosenOf(registry.sites(), asked)
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((site) => toEntry(site, deps.isSecret, isShown)),
      };
    },
    write: async ({ entries = [] }, context) => {
      await mapWriteError(registry.load());
      const planned: Site[] = [];
      created.set(context, planned);
      const ids = new Map<string, string>();
      imported.set(context, ids);
      const results: EntryResult[] = [];
      const ticks = createTicks(context.signal);
      for (const entry of entries) {
        if (ticks.isDue()) await ticks.next();
        const plan = planSite(entry, context, planned);
        results.push(plan.result);
        const { site, before } = plan;
        if (site === undefined) continue;
        ids.set(entry.name, site.id);
        if (before !== undefined) continue;
        planned.push(site);
        if (context.dryRun) continue;
        context.signal?.throwIfAborted();
        const { origin } = context.caller;
        const { url, mode } = site;
        const audit = [doneEntry(origin, deps.now(), [site.name], { url, mode })];
        const isDone = await registry.insert(Object.freeze({ ...site, paused: true }), audit);
        if (isDone) {
          context.onStored?.(site.name);
          continue;
        }
        // Another call has just taken the name or the address.
        planned.pop();
        ids.delete(entry.name);
        await mapWriteError(registry.load());
        const again = planSite(entry, context, planned);
        results[results.length - 1] = again.result;
        if (again.site !== undefined) ids.set(entry.name, again.site.id);
      }
      return results;
    },
    complete: async ({ entries = [] }, context) => {
      const ticks = createTicks(context.signal);
      for (const entry of entries) {
        if (ticks.isDue()) await ticks.next();
        await update(entry, context);
      }
    },
  };

  /** Changes an existing site, and resumes one that this import has created. */
  async function update(entry: ArchiveEntry, context: ImportContext): Promise<void> {
    const id = imported.get(context)?.get(entry.name);
    let isDone: boolean | undefined;
    while (isDone === undefined) {
      context.signal?.throwIfAborted();
      await mapWriteError(registry.load());
      const { site, before, changed } = planSite(entry, context, []);
      // A site that another call has created under this name is not changed.
      if (site === undefined || before === undefined || before.id !== id) return;
      if (changed.length === 0) return;
      const audit = [doneEntry(context.caller.origin, deps.now(), [site.name], { changed })];
      isDone = await registry.update(site, audit, before);
      if (isDone === true) context.onStored?.(site.name);
      if (isDone === true && changed.some((name) => ACCESS.has(name)))
        await registry.clearError(site.id);
    }
  }

  /** @param planned sites that the import creates besides. */
  function planSite(
    entry: ArchiveEntry,
    context: ImportContext,
    planned: readonly Site[],
  ): {
    readonly result: EntryResult;
    /** Site after the import; undefined: it stays as it is, or is not imported. */
    readonly site?: Site;
    /** Undefined: it is new. */
    readonly before?: Site | undefined;
    /** Names of the changed members. */
    readonly changed: readonly string[];
  } {
    const { siteNames, pauseSites } = context.choices;
    // As in exports: only the permanent token reads secrets of sites.
    const { isRoot } = context.caller.grant;
    const skip = (note: Text, isLoss = true) => ({
      result: entryResult(entry.name, "skipped", { note, isLoss }),
      changed: [],
    });
    const name = siteNames.get(entry.name) ?? entry.name;
    const before = registry.sites().find((site) => site.name === name);
    if (siteNames.has(entry.name) && before !== undefined && before.name !== entry.name)
      return skip(message("SITE_STANDS_FOR", { name }), false);
    const read = readEntry(entry, before, deps.isSecret);
    if ("problem" in read) return skip(read.problem);
    const { input, missing, excluded, created: time } = read;
    const base = before ?? { ...NEW_SITE, id: deps.newId(), created: time ?? deps.now() };
    const hasNoToken = base.token === "" && input.token === undefined;
    let site: Site;
    try {
      site = withInput(
        base,
        {
          ...input,
          name,
          ...(hasNoToken && { token: PLACEHOLDER }),
          ...(pauseSites && { paused: before === undefined ? true : before.paused }),
          // Its settings are compared before anything is written.
          ...(hasNoToken && { paused: true }),
        },
        {
          definitionOf: deps.definitionOf,
          maxValueBytes: deps.maxValueBytes,
          // Keys of the server and of settings of the same archive are not known yet.
          keys: new Set(Object.keys(input.overrides ?? {})),
          mayRedirect: (key) => isRoot || !deps.isSecret(key),
        },
      );
    } catch (error) {
      if (error instanceof ServiceError) return skip(error.text);
      throw error;
    }
    if (hasNoToken) site = Object.freeze({ ...site, token: "" });
    // The permanent token restores a site as it was; others compare it first, as in calls.
    const isEarly =
      !(isRoot && before === undefined) &&
      followsTooEarly(before, site, before === undefined ? NEW_STATE : registry.state(before.id));
    if (isEarly) site = Object.freeze({ ...site, mode: base.mode });
    const others = [...registry.sites(), ...planned].filter(({ id }) => id !== site.id);
    const address = addressOf(site.url);
    const same = others.find(({ url }) => addressOf(url) === address);
    if (same !== undefined)
      return skip(message("SITE_ADDRESS_TAKEN_IN_IMPORT", { name: same.name, old: entry.name }));
    if (before === undefined && others.length >= MAX_SITES)
      return skip(message("TOO_MANY_SITES", { most: MAX_SITES }));
    // A sent secret counts as changed for a caller who may not read the stored one.
    const sent = before === undefined || isRoot ? [] : sentSecrets(before, input, deps.isSecret);
    const changed = before === undefined ? [] : changedMembers(before, site, sent);
    const file = context.choices.declared?.file === undefined ? deps.managedBy(name) : undefined;
    if (file !== undefined && changed.length > 0) return skip(message("MANAGED_BY_FILE", { file }));
    const outcome = before === undefined ? "created" : changed.length > 0 ? "changed" : "unchanged";
    return {
      site,
      before,
      changed,
      result: entryResult(entry.name, outcome, {
        differs: changed.map((member) => MEMBER_NAMES[member] ?? member),
        missing,
        leftOut: isEarly ? ["mode"] : [],
        effects: effectsOf(before, site),
        isGuess: sent.length > 0,
        note: noteOf(name === entry.name ? "" : name, { hasNoToken, isEarly, excluded }),
      }),
    };
  }

  function effectsOf(before: Site | undefined, after: Site): Effect[] {
    const isFollowing = ({ mode, paused, token }: Site): boolean =>
      mode === "follow" && !paused && token !== "";
    const begins = isFollowing(after) && (before === undefined || !isFollowing(before));
    const onRecords =
      before === undefined ? [] : deps.effects.flatMap((kind) => kind.affected(before, after));
    return [
      ...(begins ? [{ action: "follow", site: after.name, kind: "", path: "" } as const] : []),
      ...onRecords.flatMap(({ effects = [] }) => effects),
    ];
  }
}

/** Token of a site without one while its other members are checked. */
const PLACEHOLDER = "-";

/** Members whose change may mend a failed contact. */
const ACCESS: ReadonlySet<string> = new Set(["url", "token", "ca", "pin"]);

/** Names of members in archives, where they differ from those of a site. */
const MEMBER_NAMES: Readonly<Record<string, string>> = {
  ca: "certificate",
  pin: "certificateSha256",
};

function toEntry(site: Site, isSecret: (key: string) => boolean, isShown: boolean): ArchiveEntry {
  const { name, url, token, ca, pin, mode, include, exclude, paused, upstream, created } = site;
  const open: Record<string, string> = {};
  const secret: Record<string, SecretValue> = {};
  for (const [key, value] of Object.entries(site.overrides))
    if (isSecret(key) && value !== "") setOwn(secret, overrideSecret(key), value);
    else setOwn(open, key, value);
  const secrets = { ...(token !== "" && { token }), ...secret };
  return {
    name,
    content: {
      url,
      ...(ca !== "" && { certificate: ca }),
      ...(pin !== "" && { certificateSha256: pin }),
      mode,
      paused,
      include,
      exclude,
      overrides: open,
      ...(upstream && { upstream }),
      created: timeMember(created),
    },
    secrets: isShown ? secrets : {},
    missing: [...(isShown ? [] : Object.keys(secrets)), ...(token === "" ? ["token"] : [])],
    isSealed: false,
  };
}

const OVERRIDES = "overrides/";

function overrideSecret(key: string): string {
  return `${OVERRIDES}${key}`;
}

function readEntry(
  { content, secrets, missing: lost }: ArchiveEntry,
  before: Site | undefined,
  isSecret: (key: string) => boolean,
):
  | { readonly problem: Text }
  | {
      readonly input: SiteInput;
      /** Secrets without a value. */
      readonly missing: readonly string[];
      /** Keys whose values on the site are not known, so that Mooring's are not written there. */
      readonly excluded: readonly string[];
      readonly created: number | undefined;
    } {
  const members = readMembers(content);
  const mode = members.text("mode") || "observe";
  const overrides: Record<string, string> = {};
  for (const [key, value] of Object.entries(members.textMap("overrides")))
    setOwn(overrides, key, value);
  for (const [name, value] of Object.entries(secrets))
    if (name.startsWith(OVERRIDES)) setOwn(overrides, name.slice(OVERRIDES.length), String(value));
  const excluded: string[] = [];
  const missing = lost.filter((name) => name === "token" && (before?.token ?? "") === "");
  for (const name of lost) {
    if (!name.startsWith(OVERRIDES)) continue;
    const key = name.slice(OVERRIDES.length);
    const isKept = isSecret(key) && ownValue(before?.overrides, key) !== undefined;
    if (isKept) setOwn(overrides, key, MASK);
    else {
      missing.push(name);
      excluded.push(key);
    }
  }
  const token = ownValue(secrets, "token");
  const access = {
    url: members.text("url"),
    ca: members.text("certificate"),
    pin: members.text("certificateSha256"),
    ...(token !== undefined && { token: String(token) }),
  };
  const input: SiteInput = {
    // The address and token of the upstream are configured where Mooring runs.
    ...(before?.upstream === true ? {} : access),
    mode: mode as SiteMode,
    include: members.texts("include"),
    exclude: [...new Set([...members.texts("exclude"), ...excluded])],
    overrides,
    paused: members.flag("paused"),
  };
  const created = members.time("created");
  const problem = members.problem() ?? modeProblem(mode);
  return problem === undefined ? { input, missing, excluded, created } : { problem };
}

/** @param name another name than in the archive; empty: the same. */
function noteOf(
  name: string,
  {
    hasNoToken,
    isEarly,
    excluded,
  }: {
    readonly hasNoToken: boolean;
    readonly isEarly: boolean;
    readonly excluded: readonly string[];
  },
): Text {
  const notes = [
    ...(name === "" ? [] : [message("SITE_CREATED_AS", { name })]),
    ...(hasNoToken ? [message("SITE_WITHOUT_TOKEN")] : []),
    ...(isEarly ? [message("SITE_NOT_COMPARED")] : []),
    ...(excluded.length > 0 ? [message("SITE_KEYS_EXCLUDED", { keys: excluded.join(", ") })] : []),
  ];
  const [first = "", ...rest] = notes;
  return rest.reduce<Text>((text, note) => message("NOTES", { first: text, second: note }), first);
}

function modeProblem(mode: string): Text | undefined {
  if (mode === "observe" || mode === "follow") return undefined;
  return message("BACKUP_MEMBER_INVALID", { name: "mode", form: "observe or follow" });
}
