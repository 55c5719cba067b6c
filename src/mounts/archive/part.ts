import { Code } from "@connectrpc/connect";
import { type Grant, outsideLimits } from "../../access/grant.ts";
import {
  type ArchiveEntry,
  type EntryResult,
  entryResult,
  type ImportContext,
  keepsSecrets,
  type LedgerPart,
} from "../../archive/part.ts";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import { type RecordResult, resultAs } from "../../history/record-result.ts";
import type { Draft } from "../../ledger/draft.ts";
import { invalid, ServiceError } from "../../messages/error.ts";
import { joinTexts, message, type Text } from "../../messages/message.ts";
import { withEffects } from "../../records/effect.ts";
import { MAX_RECORDS } from "../../records/limit.ts";
import { PathIndex } from "../../sites/path-index.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { createTicks, mapInTicks } from "../../ticks.ts";
import { effectsOf, type RunningSite } from "../effect.ts";
import type { MountInput } from "../input.ts";
import { MOUNTS, SITE_MOUNTS } from "../kind.ts";
import { type Mount, type MountIndex, missingFields } from "../mount.ts";
import { decideSave, type SaveRules } from "../save.ts";
import type { SiteFamily } from "../site-family.ts";
import { saveUsable, withNotes } from "../usable.ts";
import { saveDeclared } from "./declared.ts";
import { entryToInput, mountToEntry } from "./entry.ts";
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
    export: async ({ grant, names, withSecrets }) => {
      const sites = deps.siteNames();
      const mounts = await deps.list(grant, names);
      const ticks = createTicks();
      const entries: ArchiveEntry[] = [];
      for (const mount of mounts) {
        if (ticks.isDue()) await ticks.next();
        entries.push(mountToEntry(mount, { sites, driverOf, isShown: withSecrets }));
      }
      return { entries };
    },
    decide: (draft, given, context) => {
      const { caller, choices, dryRun } = context;
      const names = deps.siteNames(context);
      const { grant } = caller;
      const { declared } = choices;
      const rules: SaveRules = {
        driverOf,
        driverNames: deps.driverNames,
        etagOf: deps.etagOf,
        sites: names,
        families: deps.families(),
        managedBy: declared?.file === undefined ? deps.managedBy : () => undefined,
        allows: (path) => grant.allowsPath("mount", path),
        refuse: () => {
          throw outsideLimits(grant);
        },
        reveals: grant.has("mounts:reveal"),
        // An archive states which sites share a credential already.
        allowShared: given.entries !== undefined || choices.allowShared,
        isAdopted: false,
        // What a file declares follows the rules of the form; other sources are taken as they are.
        carries: declared === undefined,
        isDry: dryRun,
      };
      return decide(draft, rules, (mounts) => {
        if (given.entries === undefined) return saveRows(draft, given.rows, mounts, rules, context);
        return declared === undefined
          ? saveEntries(draft, given.entries, mounts, rules, context)
          : saveDeclared(draft, given.entries, mounts, rules, declared);
      });
    },
  };

  async function decide(
    draft: Draft,
    { sites: names, reveals }: Pick<SaveRules, "sites" | "reveals">,
    save: (mounts: MountIndex) => Promise<readonly RecordResult[]>,
  ): Promise<readonly EntryResult[]> {
    const stored = new Map(
      Array.from(draft.keys(MOUNTS), (name) => [name, draft.get(MOUNTS, name)]),
    );
    const running = deps.running();
    const results = await withEffects(
      SITE_MOUNTS,
      (change) => effectsOf(change, running),
      (_draft, mounts) => save(mounts),
    )(draft);
    return mapInTicks(results, ({ name, outcome, note, differs, isGuess = false, ...rest }) => {
      const { leftOut = [], kept = [], effects = [] } = rest;
      const mount = outcome === "skipped" ? undefined : draft.get(MOUNTS, name);
      const before = stored.get(name);
      return entryResult(name, outcome === "deleted" ? "changed" : outcome, {
        note,
        differs,
        leftOut,
        kept,
        effects,
        isGuess,
        replacedSecrets:
          before === undefined || mount === undefined
            ? []
            : replacedSecrets(
                { before, after: mount, differs },
                { driverOf, nameOf: names.nameOf, reveals },
              ),
        missing: mount === undefined ? [] : missingFields(mount, names),
      });
    });
  }

  /** Input that keeps the stored secrets of a mount, unless the caller has chosen to replace them. */
  function keeping(
    before: Mount | undefined,
    input: MountInput,
    { sites: names, reveals }: SaveRules,
    choices: ImportContext["choices"],
  ): MountInput {
    if (before === undefined || !keepsSecrets(choices)) return input;
    return withStoredSecrets(before, input, { form: driverOf(before.driver), names, reveals });
  }

  async function saveRows(
    draft: Draft,
    rows: readonly unknown[],
    mounts: MountIndex,
    rules: SaveRules,
    { choices }: ImportContext,
  ): Promise<readonly RecordResult[]> {
    const { sites } = choices;
    if (typeof sites === "object") for (const site of sites) rules.sites.named(site);
    const read = await readRows(rows, { mounts, driverOf, sites, names: rules.sites });
    const inputs = read.flatMap((row) =>
      "input" in row ? [keeping(mounts.get(row.input.name), row.input, rules, choices)] : [],
    );
    const isUnplaced = (input: MountInput): boolean =>
      input.sites === undefined && !mounts.has(input.name);
    if (rules.sites.names.length > 1 && inputs.some(isUnplaced))
      throw invalid([
        { field: "sites", description: message("SITES_REQUIRED", { field: "sites" }) },
      ]);
    const skipped = read.flatMap((row) =>
      "reason" in row ? [resultAs(row.path, "skipped", row.reason)] : [],
    );
    return [...(await saveUsable(draft, inputs, mounts, rules)), ...skipped];
  }

  async function saveEntries(
    draft: Draft,
    entries: readonly ArchiveEntry[],
    mounts: MountIndex,
    rules: SaveRules,
    { choices }: ImportContext,
  ): Promise<readonly RecordResult[]> {
    const inputs: MountInput[] = [];
    const fixed = new Map<string, RecordResult>();
    const notes = new Map<string, Text>();
    const ticks = createTicks();
    for (const entry of entries) {
      if (ticks.isDue()) await ticks.next();
      const before = mounts.get(entry.name);
      const read = entryToInput(entry, before, { names: rules.sites, renamed: choices.siteNames });
      if (!("input" in read)) {
        fixed.set(entry.name, resultAs(entry.name, "skipped", read.reason));
        continue;
      }
      const input = keeping(before, read.input, rules, choices);
      if (isSameManaged(before, input, rules))
        fixed.set(entry.name, resultAs(entry.name, "unchanged", "", { kept: input.kept ?? [] }));
      else {
        inputs.push(input);
        notes.set(entry.name, read.note);
      }
    }
    const saved = new Map(
      (await saveAll(draft, inputs, mounts, rules)).map((result) => [
        result.name,
        { ...result, note: joinTexts([result.note, notes.get(result.name) ?? ""]) },
      ]),
    );
    return entries.flatMap(({ name }) => fixed.get(name) ?? saved.get(name) ?? []);
  }
}

/**
 * Saves all inputs together, so that mounts can exchange their paths; if one is rejected, each by
 * itself.
 */
async function saveAll(
  draft: Draft,
  inputs: readonly MountInput[],
  mounts: MountIndex,
  rules: SaveRules,
): Promise<readonly RecordResult[]> {
  if (inputs.length === 0) return [];
  try {
    const results = await decideSave(draft, inputs, new PathIndex(mounts), rules);
    const byName = new Map(inputs.map((input) => [input.name, input]));
    return results.map((result) =>
      withNotes(result, byName.get(result.name) ?? { name: result.name }, rules.sites),
    );
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === Code.PermissionDenied) throw error;
    return saveUsable(draft, inputs, mounts, rules, ({ name }) => name);
  }
}
