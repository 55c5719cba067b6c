import {
  type ArchiveEntry,
  chosenOf,
  type EntryResult,
  type ImportContext,
  type StorePart,
} from "../../archive/part.ts";
import { doneEntry } from "../../audit/entry.ts";
import { mapWriteError } from "../../database/error.ts";
import { createTicks } from "../../ticks.ts";
import { changedMembers, type SiteRegistry } from "../registry.ts";
import { changesAccess, MAX_SITES, type Site } from "../site.ts";
import { createSiteNames, type SiteNames } from "../site-names.ts";
import { toEntry } from "./entry.ts";
import { planSite, type SitePlanDeps } from "./plan.ts";

export interface SitePartDeps extends SitePlanDeps {
  readonly registry: Pick<
    SiteRegistry,
    "sites" | "state" | "load" | "insert" | "update" | "change" | "clearError" | "names"
  >;
}

/** Sites in archives. */
export interface SitePart extends StorePart {
  /** Names of the sites; during an import with those that it creates. */
  names(context?: ImportContext): SiteNames;
  /** Sites of an import, as they are at its end; without those that it skips. */
  plannedBy(context: ImportContext): readonly Site[];
  /** Pauses a site, also at the end of the import: until its server has what limits its mounts. */
  hold(context: ImportContext, name: string): Promise<void>;
  /** Resumes a site that an earlier import has paused, unless this import does so at its end. */
  release(context: ImportContext, name: string): Promise<void>;
}

/** State of one import. */
interface Import {
  /** Sites that it creates. */
  readonly created: Site[];
  /** Its sites as they are at its end, by the names of their entries; without those that it skips. */
  readonly planned: Map<string, Site>;
  /** Ids of sites that stay paused. */
  readonly held: Set<string>;
}

/**
 * Sites in archives: address, certificate, mode, keys and overrides, with the token as a secret. New
 * sites are created paused, and existing ones are changed after all other parts: no server gets
 * anything before the whole import is stored. A site that moves to another server is paused there at
 * first, as a new one. No server is called.
 */
export function createSitePart(deps: SitePartDeps): SitePart {
  const { registry } = deps;
  const imports = new WeakMap<ImportContext, Import>();
  const change = async (
    name: string,
    edit: (site: Site) => Site,
    { caller }: ImportContext,
  ): Promise<void> => {
    const site = registry.sites().find((each) => each.name === name);
    if (site === undefined) return;
    await registry.change(site.id, edit, (before, after) => [
      doneEntry(caller.origin, deps.now(), [name], { changed: changedMembers(before, after) }),
    ]);
  };
  return {
    kind: "store",
    name: "sites",
    exportScope: "sites:read",
    // As CreateSite and UpdateSite: values and mounts of Mooring are sent to the address of a site.
    importScopes: ["sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal"],
    most: MAX_SITES,
    names: (context) => {
      const known = registry.names();
      const created = (context && imports.get(context)?.created) ?? [];
      const missing = created.filter(({ name }) => known.idOf(name) === undefined);
      return missing.length === 0 ? known : createSiteNames([...registry.sites(), ...missing]);
    },
    plannedBy: (context) => [...(imports.get(context)?.planned.values() ?? [])],
    hold: async (context, name) => {
      const site = registry.sites().find((each) => each.name === name);
      if (site !== undefined) imports.get(context)?.held.add(site.id);
      const isHeld = site?.paused === true || context.dryRun;
      if (!isHeld) await change(name, (before) => pausedFor(before, deps.now()), context);
    },
    release: async (context, name) => {
      if (imports.has(context) || context.dryRun) return;
      await change(
        name,
        (site) => Object.freeze({ ...site, paused: false, restoring: 0 }),
        context,
      );
    },
    export: async ({ grant, names, withSecrets }) => {
      await mapWriteError(registry.load());
      // A token of a server has every right there: only the permanent token reads it.
      const isShown = withSecrets && grant.isRoot;
      return {
        entries: chosenOf(registry.sites(), names)
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((site) => toEntry(site, deps.isSecret, isShown)),
      };
    },
    write: async ({ entries = [] }, context) => {
      await mapWriteError(registry.load());
      const state: Import = { created: [], planned: new Map(), held: new Set() };
      imports.set(context, state);
      const results: EntryResult[] = [];
      const ticks = createTicks(context.signal);
      for (const entry of entries) {
        if (ticks.isDue()) await ticks.next();
        results.push(await create(deps, entry, context, state));
      }
      return results;
    },
    complete: async ({ entries = [] }, context) => {
      const ticks = createTicks(context.signal);
      for (const entry of entries) {
        if (ticks.isDue()) await ticks.next();
        const { planned, held } = imports.get(context) ?? {};
        const id = planned?.get(entry.name)?.id;
        await update(deps, entry, context, id, (_before, after) =>
          held?.has(after.id) === true ? pausedFor(after, deps.now()) : after,
        );
      }
    },
  };
}

/**
 * Creates the site of an entry, paused. An existing one is changed at the end of the import, except that
 * one which moves to another server is moved now: its former server gets nothing of this import.
 */
async function create(
  deps: SitePartDeps,
  entry: ArchiveEntry,
  context: ImportContext,
  { created, planned }: Import,
): Promise<EntryResult> {
  const { site, before, result } = planSite(deps, entry, context, created);
  if (site === undefined) return result;
  if (before !== undefined || context.dryRun) {
    planned.set(entry.name, site);
    if (before === undefined) created.push(site);
    else if (!context.dryRun)
      await update(deps, entry, context, site.id, (stored, after) =>
        pausedOnNewServer(stored, after, deps.now()),
      );
    return result;
  }
  context.signal?.throwIfAborted();
  const { name, url, mode } = site;
  const audit = [doneEntry(context.caller.origin, deps.now(), [name], { url, mode })];
  if (await deps.registry.insert(pausedFor(site, deps.now()), audit)) {
    planned.set(entry.name, site);
    created.push(site);
    context.onStored?.(name);
    return result;
  }
  // Another call has just taken the name or the address.
  await mapWriteError(deps.registry.load());
  const again = planSite(deps, entry, context, created);
  if (again.site !== undefined) planned.set(entry.name, again.site);
  return again.result;
}

/**
 * Changes an existing site, and resumes one that this import has created.
 *
 * @param id - of the site that the import has planned; undefined: it was skipped.
 * @param next - the site that is stored now, of that at the end of the import.
 */
async function update(
  deps: SitePartDeps,
  entry: ArchiveEntry,
  context: ImportContext,
  id: string | undefined,
  next: (before: Site, after: Site) => Site,
): Promise<void> {
  const { registry } = deps;
  let isDone: boolean | undefined;
  while (isDone === undefined) {
    context.signal?.throwIfAborted();
    await mapWriteError(registry.load());
    const { site: planned, before, changed: ofPlan } = planSite(deps, entry, context, []);
    // A site that another call has created under this name is not changed.
    if (planned === undefined || before === undefined || before.id !== id) return;
    const site = next(before, planned);
    const changed = site === planned ? ofPlan : changedMembers(before, site);
    if (changed.length === 0) return;
    const audit = [doneEntry(context.caller.origin, deps.now(), [site.name], { changed })];
    isDone = await registry.update(site, audit, before);
    if (isDone !== true) continue;
    context.onStored?.(site.name);
    if (changesAccess(changed)) await registry.clearError(site.id);
  }
}

/** The site, paused, if it moves to another server; as before if it stays where it is. */
function pausedOnNewServer(before: Site, after: Site, now: number): Site {
  if (!changesAccess(changedMembers(before, after))) return before;
  return pausedFor(after, now);
}

/** The site, paused for an import until all that belongs to it is stored. */
function pausedFor(site: Site, now: number): Site {
  return site.paused ? site : Object.freeze({ ...site, paused: true, restoring: now });
}
