import {
  type ArchiveEntry,
  chosenOf,
  type GivenEntries,
  keepsSecrets,
  type LedgerPart,
} from "../../archive/part.ts";
import { unreadable } from "../../archive/readable.ts";
import { createTrial, type Draft } from "../../ledger/draft.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import { rejectViolations } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { didYouMean } from "../../messages/nearest.ts";
import { isRetired, type SettingItem } from "../item.ts";
import { SETTINGS } from "../kind.ts";
import { type Rights, rightsOf } from "../rights.ts";
import { decideItems, isHidden, problemOf, type SaveRules } from "../save.ts";
import { SERVER_OWN_KEYS } from "../server-own.ts";
import { TOKEN_KEY } from "../token.ts";
import { normalizeStoredValue } from "../value.ts";
import { type PlanDeps, planSettings, type SettingPlan } from "./plan.ts";
import { decryptSetting, readSettings, type SourceSetting } from "./row.ts";

/** Maximum number of settings of an import. A full site has 250. */
const MAX_SETTINGS = 20_000;

/** Number of settings of an import above the maximum of stored ones: it may skip them. */
const SPARE = 1_000;

export interface SettingPartDeps extends SaveRules {
  readonly ledger: Pick<Ledger, "snapshot">;
  /** Maximum number of custom settings. Default: no limit. */
  readonly maxCustomSettings?: number;
}

/** Settings in archives, with custom ones. */
export function createSettingPart(deps: SettingPartDeps): LedgerPart<Draft> {
  const { ledger } = deps;
  const rightsOfGrant = (grant: Parameters<typeof rightsOf>[0]) => rightsOf(grant, ledger.snapshot);
  return {
    kind: "ledger",
    name: "settings",
    server: { member: "settings", recognizes: isSettingRow, decrypt: decryptSetting },
    revealScope: "settings:reveal",
    most: MAX_SETTINGS,
    export: async ({ grant, names, includeServerOwn, withSecrets }) => {
      const rights = rightsOfGrant(grant);
      const all = [...ledger.snapshot().of(SETTINGS).items()]
        .filter((item) => rights.canReadItem(item))
        .map((item) => ({ name: item.key, item }));
      const items = chosenOf(all, names).map(({ item }) => item);
      const isLeft = ({ key }: SettingItem) => !includeServerOwn && SERVER_OWN_KEYS.has(key);
      return {
        entries: items
          .filter((item) => !isLeft(item))
          .map((item) => toEntry(item, withSecrets && !rights.isMasked(item))),
        leftOut: items.filter(isLeft).map(({ key }) => key),
      };
    },
    isDefault: ({ name, content: { value } }) => {
      const item = ledger.snapshot().get(SETTINGS, name);
      if (item?.definition === undefined) return false;
      // A secret is not compared: that would tell its value.
      return item.revision === 0 || item.definition.default === value;
    },
    decide: async (draft, given, { caller, choices }) => {
      const rights = rightsOfGrant(caller.grant);
      const isOwn = choices.declared?.file !== undefined;
      const managedBy = isOwn ? () => undefined : deps.managedBy;
      const rules = { ...deps, managedBy, rights, hides: rights.hides };
      const settings = readSettings(given);
      const { maxCustomSettings = Number.POSITIVE_INFINITY } = deps;
      const most = ledger.snapshot().of(SETTINGS).size + maxCustomSettings + SPARE;
      const count = settings.length;
      if (count > most)
        throw unreadable(message("BACKUP_TOO_MANY", { part: "settings", count, most }));
      // As a save of such settings.
      const isOutside = (setting: SourceSetting): boolean => !isAllowed(draft, setting, rights);
      if (rights.isLimited && count > 0 && settings.every(isOutside)) rights.refuse();
      const plan = await planOn(draft, settings, rules, {
        includeServerOwn: choices.includeServerOwn,
        keepsSecrets: keepsSecrets(choices),
      });
      if (choices.declared !== undefined) refuseDeclared(draft, given, plan, rights);
      else if (!choices.skipInvalid) refuseInvalid(plan);
      await decideItems(draft, plan.changes, rules);
      return plan.results;
    },
  };
}

function isSettingRow(row: Readonly<Record<string, unknown>>): boolean {
  return "key" in row && "value" in row;
}

/** A caller who may not read the value must not learn whether it is the default. */
function hasSecret(item: SettingItem, rights: Rights): boolean {
  const { secret, value, revision, definition } = item;
  if (!secret || value === "" || (definition !== undefined && revision === 0)) return false;
  return rights.isMasked(item) || value !== definition?.default;
}

/** @param isShown whether the value of a secret is included. */
function toEntry(item: SettingItem, isShown: boolean): ArchiveEntry {
  const { key: name, value, type, options, help, group, flag, secret } = item;
  const description = { type, options, help, group, flag };
  const isSecret = secret && value !== "";
  return {
    name,
    content: isSecret ? description : { value, ...description },
    secrets: isSecret && isShown ? { value } : {},
    missing: isSecret && !isShown ? ["value"] : [],
    isSealed: false,
  };
}

interface PlanRules extends SaveRules {
  readonly rights: Rights;
}

function planOn(
  draft: Draft,
  settings: readonly SourceSetting[],
  rules: PlanRules,
  choices: Pick<PlanDeps, "includeServerOwn" | "keepsSecrets">,
): Promise<SettingPlan> {
  const trial = createTrial(draft);
  return planSettings(settings, {
    // Only the value counts, also for a setting of an earlier version.
    current: (key) => {
      const item = draft.get(SETTINGS, key);
      if (item === undefined) return undefined;
      const definition = item.definition ?? (isRetired(item) || undefined);
      return { ...item, definition, hasSecret: hasSecret(item, rules.rights) };
    },
    normalize: ({ key, value }) => {
      const definition = draft.get(SETTINGS, key)?.definition;
      return definition === undefined ? value : normalizeStoredValue(definition, value);
    },
    check: (setting) => problemOf(trial, setting, rules),
    managedBy: rules.managedBy,
    ...choices,
    hidden: ({ key, value }) => isHidden(draft.get(SETTINGS, key), value, rules.hides),
    allowed: (setting) => isAllowed(draft, setting, rules.rights),
  });
}

/**
 * Reports whether the caller may write a setting. A new one counts as ungrouped, as in a save: a group
 * of the source would show whether a setting outside of the limits exists.
 */
function isAllowed(draft: Draft, { key, group }: SourceSetting, rights: Rights): boolean {
  const item = draft.get(SETTINGS, key);
  // Writing the permanent token requires the same right as reading it.
  if (rights.isMasked({ key, secret: item?.secret ?? false }) && key === TOKEN_KEY) return false;
  if (item === undefined) return rights.canRead(key);
  return (
    rights.canReadItem(item) && (item.origin === "known" || rights.canReadItem({ key, group }))
  );
}

function refuseInvalid({ invalid }: SettingPlan): void {
  rejectViolations(invalid.map(({ key, problem }) => ({ field: key, description: problem })));
}

/**
 * Refuses declared settings with invalid values, and those that the program does not define and that
 * are not described as custom ones.
 */
function refuseDeclared(
  draft: Draft,
  { entries = [] }: GivenEntries,
  { invalid }: SettingPlan,
  rights: Rights,
): void {
  const problems = new Map(invalid.map(({ key, problem }) => [key, problem]));
  const known = [...draft.keys(SETTINGS)].filter((key) => {
    const item = draft.get(SETTINGS, key);
    return item !== undefined && rights.canReadItem(item);
  });
  rejectViolations(
    entries.flatMap(({ name, content }, at) => {
      const isDefined = draft.get(SETTINGS, name) !== undefined || Object.hasOwn(content, "type");
      const problem = isDefined
        ? problems.get(name)
        : message("SETTING_UNDEFINED", { hint: didYouMean(name, known) });
      return problem === undefined ? [] : [{ field: `settings[${at}]`, description: problem }];
    }),
  );
}
