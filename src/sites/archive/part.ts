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
import type { SiteRegistry } from "../registry.ts";
import { changesAccess, MAX_SITES, type Site } from "../site.ts";
import { createSiteNames, type SiteNames } from "../site-names.ts";
import { toEntry } from "./entry.ts";
import { planSite, type SitePlanDeps } from "./plan.ts";

export interface SitePartDeps extends SitePlanDeps {
  readonly registry: Pick<
    SiteRegistry,
    "sites" | "state" | "load" | "insert" | "update" | "clearError" | "names"
  >;
}

/** Sites in archives. */
export interface SitePart extends StorePart {
  /** Names of the sites; during an import with those that it creates. */
  names(context?: ImportContext): SiteNames;
  /** Sites that an import creates, as they are at its end. */
  createdBy(context: ImportContext): readonly Site[];
}

/** State of one import. */
interface Import {
  /** Sites that it creates. */
  readonly created: Site[];
  /** Ids of its sites by the names of their entries; without those that it skips. */
  readonly ids: Map<string, string>;
}

/**
 * Sites in archives: address, certificate, mode, keys and overrides, with the token as a secret. New
 * sites are created paused, and existing ones are changed after all other parts: no server gets
 * anything before the whole import is stored. No server is called.
 */
export function createSitePart(deps: SitePartDeps): SitePart {
  const { registry } = deps;
  const imports = new WeakMap<ImportContext, Import>();
  const createdBy = (context: ImportContext): readonly Site[] =>
    imports.get(context)?.created ?? [];
  return {
    kind: "store",
    name: "sites",
    exportScope: "sites:read",
    // As CreateSite and UpdateSite: values and mounts of Mooring are sent to the address of a site.
    importScopes: ["sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal"],
    most: MAX_SITES,
    names: (context) => {
      const known = registry.names();
      const created = context === undefined ? [] : createdBy(context);
      const missing = created.filter(({ name }) => known.idOf(name) === undefined);
      return missing.length === 0 ? known : createSiteNames([...registry.sites(), ...missing]);
    },
    createdBy,
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
      const state: Import = { created: [], ids: new Map() };
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
        await update(deps, entry, context, imports.get(context)?.ids.get(entry.name));
      }
    },
  };
}

/** Creates the site of an entry, paused. An existing one is changed at the end of the import. */
async function create(
  deps: SitePartDeps,
  entry: ArchiveEntry,
  context: ImportContext,
  { created, ids }: Import,
): Promise<EntryResult> {
  const { site, before, result } = planSite(deps, entry, context, created);
  if (site === undefined) return result;
  if (before !== undefined || context.dryRun) {
    ids.set(entry.name, site.id);
    if (before === undefined) created.push(site);
    return result;
  }
  context.signal?.throwIfAborted();
  const { name, url, mode } = site;
  const audit = [doneEntry(context.caller.origin, deps.now(), [name], { url, mode })];
  if (await deps.registry.insert(Object.freeze({ ...site, paused: true }), audit)) {
    ids.set(entry.name, site.id);
    created.push(site);
    context.onStored?.(name);
    return result;
  }
  // Another call has just taken the name or the address.
  await mapWriteError(deps.registry.load());
  const again = planSite(deps, entry, context, created);
  if (again.site !== undefined) ids.set(entry.name, again.site.id);
  return again.result;
}

/**
 * Changes an existing site, and resumes one that this import has created.
 *
 * @param id - of the site that the import has planned; undefined: it was skipped.
 */
async function update(
  deps: SitePartDeps,
  entry: ArchiveEntry,
  context: ImportContext,
  id: string | undefined,
): Promise<void> {
  const { registry } = deps;
  let isDone: boolean | undefined;
  while (isDone === undefined) {
    context.signal?.throwIfAborted();
    await mapWriteError(registry.load());
    const { site, before, changed } = planSite(deps, entry, context, []);
    // A site that another call has created under this name is not changed.
    if (site === undefined || before === undefined || before.id !== id) return;
    if (changed.length === 0) return;
    const audit = [doneEntry(context.caller.origin, deps.now(), [site.name], { changed })];
    isDone = await registry.update(site, audit, before);
    if (isDone !== true) continue;
    context.onStored?.(site.name);
    if (changesAccess(changed)) await registry.clearError(site.id);
  }
}
