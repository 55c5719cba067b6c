import type { Grant } from "../../access/grant.ts";
import type { GivenEntries, ImportContext, LedgerPart } from "../../archive/part.ts";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { RecordResult } from "../../history/record-result.ts";
import type { Draft } from "../../ledger/draft.ts";
import { importRecords, importRules, saveEntries, saveRows } from "../../records/import.ts";
import { MAX_RECORDS } from "../../records/limit.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { LONGEST_OF_ARCHIVE, mapInTicks } from "../../ticks.ts";
import { effectsOf, type RunningSite } from "../effect.ts";
import type { MountInput } from "../input.ts";
import { SITE_MOUNTS } from "../kind.ts";
import type { Mount, MountIndex } from "../mount.ts";
import type { SaveRules } from "../save.ts";
import { mountSaver, skippedName } from "../saver.ts";
import type { SiteFamily } from "../site-family.ts";
import { saveDeclared } from "./declared.ts";
import { mountToEntry } from "./entry.ts";
import { entryToInput } from "./entry-input.ts";
import { replacedSecrets } from "./replaced-secret.ts";
import { readRows } from "./row.ts";
import { isSameManaged } from "./same-managed.ts";
import { withStoredSecrets } from "./stored-secret.ts";

export interface MountPartDeps {
  /**
   * Mounts with these names or paths, or all that a caller may read, sorted by name.
   *
   * @throws NOT_FOUND; PERMISSION_DENIED.
   */
  readonly list: (grant: Grant, names: readonly string[]) => Promise<readonly Mount[]>;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  readonly etagOf: SaveRules["etagOf"];
  /** Detected families of all sites. */
  readonly families: () => readonly SiteFamily[];
  /** Source that declares a mount; undefined: clients may change it. */
  readonly managedBy: (name: string) => string | undefined;
  /** Sites whose mounts are written to their servers. */
  readonly running: () => readonly RunningSite[];
  /** Names of the sites during an import, with those that it creates. */
  readonly siteNames: (context?: ImportContext) => SiteNames;
}

/** Mounts in archives, with names, sites by name, overrides and content. */
export function createMountPart(deps: MountPartDeps): LedgerPart<Draft> {
  const { driverOf } = deps;
  return {
    kind: "ledger",
    name: "mounts",
    server: { member: "storages", recognizes: (row) => "mount_path" in row },
    exportScope: "mounts:read",
    revealScope: "mounts:reveal",
    importScopes: ["mounts:write"],
    refusesLimits: true,
    most: MAX_RECORDS,
    export: async ({ grant, names, withSecrets, signal }) => {
      const sites = deps.siteNames();
      const mounts = await deps.list(grant, names);
      return {
        entries: await mapInTicks(
          mounts,
          (mount) => mountToEntry(mount, { sites, driverOf, isShown: withSecrets }),
          signal,
          LONGEST_OF_ARCHIVE,
        ),
      };
    },
    decide: (draft, given, context) => {
      const { caller, choices, dryRun } = context;
      const sites = deps.siteNames(context);
      const running = deps.running();
      const rules: SaveRules = {
        ...importRules(SITE_MOUNTS, context, { ...deps, sites }),
        driverOf,
        driverNames: deps.driverNames,
        families: deps.families(),
        // An archive states which sites share a credential already.
        allowShared: given.entries !== undefined || choices.allowShared,
        isDry: dryRun,
      };
      const { nameOf } = sites;
      const reveals = caller.grant.has("mounts:reveal");
      return importRecords(SITE_MOUNTS, draft, {
        sites,
        effectsOf: (change) => effectsOf(change, running),
        save: (mounts) => saveGiven(draft, given, { mounts, rules, context }),
        isGuess: ({ isGuess = false }) => isGuess,
        replacedSecrets: (before, after, differs) =>
          replacedSecrets({ before, after, differs }, { driverOf, nameOf, reveals }),
      });
    },
  };
}

async function saveGiven(
  draft: Draft,
  given: GivenEntries,
  {
    mounts,
    rules,
    context: { choices, signal },
  }: {
    readonly mounts: MountIndex;
    readonly rules: SaveRules;
    readonly context: ImportContext;
  },
): Promise<readonly RecordResult[]> {
  const { sites: names, driverOf } = rules;
  const { declared, sites, siteNames: renamed } = choices;
  const saver = mountSaver(draft, rules);
  const keeping = {
    choices,
    withStored: (before: Mount, input: MountInput): MountInput =>
      withStoredSecrets(before, input, {
        form: driverOf(before.driver),
        names,
        reveals: rules.reveals,
      }),
  };
  if (given.entries === undefined) {
    if (typeof sites === "object") for (const site of sites) names.named(site);
    const rows = await readRows(given.rows, { mounts, driverOf, sites, names });
    return saveRows(SITE_MOUNTS, saver, rows, mounts, {
      ...keeping,
      names,
      nameOf: skippedName,
    });
  }
  if (declared !== undefined) return saveDeclared(draft, given.entries, mounts, rules, declared);
  return saveEntries(SITE_MOUNTS, saver, given.entries, mounts, {
    ...keeping,
    read: (entry, before) =>
      entryToInput(entry, before, { names, renamed, reveals: rules.reveals }),
    isSame: (input) => isSameManaged(mounts.get(input.name), input, rules),
    signal,
  });
}
