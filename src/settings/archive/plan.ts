import { type EntryResult, entryResult } from "../../archive/part.ts";
import { message, type Text } from "../../messages/message.ts";
import { createTicks } from "../../ticks.ts";
import { FLAG } from "../item.ts";
import { SERVER_OWN_KEYS } from "../server-own.ts";
import { checkToken, TOKEN_KEY } from "../token.ts";
import { MASK } from "../value.ts";
import type { SourceSetting } from "./row.ts";

/** Setting to be saved. */
export type KeptSetting = Omit<SourceSetting, "value" | "absent"> & { readonly value: string };

/** Plan of an import of settings. */
export interface SettingPlan {
  /** In the order of the source. */
  readonly results: readonly EntryResult[];
  /** Settings to be saved: exactly the created and changed ones. */
  readonly changes: readonly KeptSetting[];
  /** Settings whose values break a rule. */
  readonly invalid: readonly { readonly key: string; readonly problem: Text }[];
}

/** The current setting. */
export type CurrentSetting = Omit<KeptSetting, "key"> & {
  /** Whether a secret is stored, other than the default of its setting. */
  readonly hasSecret: boolean;
  readonly secret: boolean;
  /** Undefined for custom and deprecated settings, which the program does not define. */
  readonly definition: unknown;
};

export interface PlanDeps {
  readonly current: (key: string) => CurrentSetting | undefined;
  /** Normalizes a value before it is checked and stored. */
  readonly normalize: (setting: KeptSetting) => string;
  /**
   * Checks the value to be stored.
   *
   * @returns the problem, without secrets; undefined: valid.
   */
  readonly check: (setting: KeptSetting) => Text | undefined;
  /** Returns the source that manages a key, such as a file; undefined: clients may write it. */
  readonly managedBy?: (key: string) => Text | undefined;
  /**
   * Reports whether the caller may not read the setting's value, which then counts as different.
   * Default: none.
   */
  readonly hidden?: (setting: KeptSetting) => boolean;
  /** Whether stored secrets stay as they are. Default: the source replaces them. */
  readonly keepsSecrets?: boolean;
  /** Whether values that belong to one server are imported. Default: false. */
  readonly includeServerOwn?: boolean;
  /** Reports whether the caller may write the setting; default: all. */
  readonly allowed?: (setting: SourceSetting) => boolean;
}

/**
 * Plans an import, key by key, without changing anything. Of known settings only the value is
 * imported; others become custom settings as described by the source. Values that belong to one
 * server are imported only on request.
 */
export async function planSettings(
  settings: readonly SourceSetting[],
  deps: PlanDeps,
): Promise<SettingPlan> {
  const ticks = createTicks();
  const results: EntryResult[] = [];
  const changes: KeptSetting[] = [];
  const invalid: { key: string; problem: Text }[] = [];
  const resultOf = (setting: SourceSetting): EntryResult => {
    const { key } = setting;
    const skip = skipped(setting, deps);
    if (skip !== undefined) return skip;
    const current = deps.current(key);
    const given = { ...setting, value: setting.value ?? "" };
    const imported = whatIsKept({ ...given, value: deps.normalize(given) }, current);
    const isHidden = deps.hidden?.(imported) === true;
    const isOther = current !== undefined && (isHidden || imported.value !== current.value);
    const isReplaced = isOther && current.hasSecret;
    // A value that belongs to one server is a choice of its own.
    const stays = isReplaced && deps.keepsSecrets === true && !SERVER_OWN_KEYS.has(key);
    const next = stays ? { ...imported, value: current.value } : imported;
    const kept = stays ? ["value"] : [];
    const differs = current === undefined ? [] : differing(next, current, isHidden && !stays);
    if (current !== undefined && differs.length === 0)
      return entryResult(key, "unchanged", { kept });
    const problem = deps.check(next);
    if (problem !== undefined) {
      invalid.push({ key, problem });
      return entryResult(key, "skipped", { note: problem });
    }
    changes.push(next);
    const endsCaller = key === TOKEN_KEY;
    if (current === undefined) return entryResult(key, "created", { endsCaller });
    return entryResult(key, "changed", {
      differs,
      kept,
      replacedSecrets: isReplaced && !stays ? ["value"] : [],
      isGuess: isHidden && !stays,
      endsCaller,
    });
  };
  for (const setting of settings) {
    if (ticks.isDue()) await ticks.next();
    results.push(resultOf(setting));
  }
  return { results, changes, invalid };
}

/** Result for a setting that is not imported; undefined: it is. */
function skipped(
  setting: SourceSetting,
  { current, managedBy, allowed, hidden, includeServerOwn = false }: PlanDeps,
): EntryResult | undefined {
  const { key, value, absent } = setting;
  const left = (note: Text, isLoss: boolean) => entryResult(key, "skipped", { note, isLoss });
  // A choice of the caller, or of the default.
  if (!includeServerOwn && SERVER_OWN_KEYS.has(key)) return left(message("SERVER_OWN"), false);
  // Checked first: the following reasons would reveal something about the stored setting.
  if (allowed?.(setting) === false) return left(message("NOT_WRITABLE_BY_TOKEN"), true);
  const now = current(key);
  const unknown = value === undefined ? (absent ?? message("SECRET_LEFT_OUT")) : maskOf(value, now);
  if (unknown !== undefined) {
    // The present value stays.
    if (now !== undefined && now.value !== "")
      return entryResult(key, "unchanged", { note: unknown });
    return entryResult(key, "skipped", { note: unknown, missing: ["value"] });
  }
  const isOther = hidden?.({ ...setting, value: value ?? "" }) === true || now?.value !== value;
  if (now?.flag === FLAG.readonly && isOther) return left(message("READONLY"), false);
  const manager = managedBy?.(key);
  if (manager !== undefined && isOther)
    return left(message("MANAGED_BY_FILE", { file: manager }), true);
  const weak = key === TOKEN_KEY ? checkToken(value ?? "") : undefined;
  // A token that can't be used is left out, so that it does not stop the rest.
  return weak === undefined ? undefined : left(message("STAYS_AS_IT_IS", { reason: weak }), true);
}

/** Reason for which a masked value is not known; undefined: it is no mask. */
function maskOf(value: string, now: CurrentSetting | undefined): Text | undefined {
  const isMask = value === MASK && (now === undefined || now.secret);
  return isMask ? message("MASKED_IN_BACKUP") : undefined;
}

function whatIsKept(setting: KeptSetting, current: CurrentSetting | undefined): KeptSetting {
  const { key, value } = setting;
  if (current?.definition !== undefined) {
    const { type, options, help, group, flag } = current;
    return { key, value, type, options, help, group, flag };
  }
  // A deprecated setting does not become active again through an older backup.
  const flag = current?.flag === FLAG.deprecated ? FLAG.deprecated : setting.flag;
  const { options, help, group } = setting;
  return { key, value, type: setting.type || "string", options, help, group, flag };
}

/** Names of the members that differ. */
function differing(kept: KeptSetting, current: CurrentSetting, isHidden: boolean): string[] {
  const names = ["value", "type", "options", "help", "group", "flag"] as const;
  return names.filter((name) => kept[name] !== current[name] || (name === "value" && isHidden));
}
