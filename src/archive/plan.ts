import { message, type Text } from "../messages/message.ts";
import { FLAG } from "../settings/item.ts";
import { SERVER_OWN_KEYS } from "../settings/server-own.ts";
import { checkToken, TOKEN_KEY } from "../settings/token.ts";
import { MASK } from "../settings/value.ts";
import { createTicks } from "../ticks.ts";
import type { BackupSetting, ReadBackup } from "./setting.ts";

/** Outcome for one key of an import. `invalid`: the value breaks a rule and is not imported. */
export type Outcome = "added" | "changed" | "unchanged" | "skipped" | "invalid";

export interface ImportEntry {
  readonly key: string;
  readonly outcome: Outcome;
  /** Reason for `skipped` or `invalid`, for display; otherwise empty. Never a value of a secret. */
  readonly reason: Text;
}

/** Plan of an import. */
export interface ImportPlan {
  /** Each key of the backup once, in its order. */
  readonly entries: readonly ImportEntry[];
  /** Settings to be saved: exactly the added and changed entries. */
  readonly changes: readonly BackupSetting[];
}

/** The current setting. */
export type CurrentSetting = Omit<BackupSetting, "key"> & {
  readonly secret: boolean;
  /** Undefined for custom and deprecated settings, which the program does not define. */
  readonly definition: unknown;
};

export interface PlanDeps {
  readonly current: (key: string) => CurrentSetting | undefined;
  /** Normalizes a value before it is checked and stored. */
  readonly normalize: (setting: BackupSetting) => string;
  /**
   * Checks the value to be stored.
   *
   * @returns the problem, without secrets; undefined: valid.
   */
  readonly check: (setting: BackupSetting) => Text | undefined;
  /** Returns the source that manages a key, such as a file; undefined: clients may write it. */
  readonly managedBy?: (key: string) => Text | undefined;
  /**
   * Reports whether the caller may not read the setting's value, which then counts as different.
   * Default: none.
   */
  readonly hidden?: (setting: BackupSetting) => boolean;
  /** Whether values that belong to one server are imported. Default: false. */
  readonly includeServerOwn?: boolean;
  /** Reports whether the caller may write the setting; default: all. */
  readonly allowed?: (setting: BackupSetting) => boolean;
}

/**
 * Plans an import, key by key, without changing anything. Of known settings only the value is
 * imported; others become custom settings as described by the backup. Values that belong to one
 * server are imported only on request, except for the token of Mooring's own documents, which is
 * restored.
 */
export async function planImport(
  { source, settings, skipped }: Pick<ReadBackup, "source" | "settings" | "skipped">,
  deps: PlanDeps,
): Promise<ImportPlan> {
  const ticks = createTicks();
  // The last of equal keys counts, as in a save of the existing servers.
  const last = new Map(settings.map((setting) => [setting.key, setting]));
  const changes: BackupSetting[] = [];
  const isLeftOut = (key: string): boolean =>
    deps.includeServerOwn !== true &&
    SERVER_OWN_KEYS.has(key) &&
    !(source === "mooring" && key === TOKEN_KEY);
  const entryOf = (setting: BackupSetting): ImportEntry => {
    const { key } = setting;
    const skip = isLeftOut(key) ? message("SERVER_OWN") : skipReason(setting, deps);
    if (skip !== undefined) return { key, outcome: "skipped", reason: skip };
    const current = deps.current(key);
    const kept = whatIsKept({ ...setting, value: deps.normalize(setting) }, current);
    if (current !== undefined && deps.hidden?.(kept) !== true && isSame(kept, current))
      return { key, outcome: "unchanged", reason: "" };
    const problem = deps.check(kept);
    if (problem !== undefined) return { key, outcome: "invalid", reason: problem };
    changes.push(kept);
    return { key, outcome: current === undefined ? "added" : "changed", reason: "" };
  };
  const entries: ImportEntry[] = [];
  for (const setting of last.values()) {
    if (ticks.isDue()) await ticks.next();
    entries.push(entryOf(setting));
  }
  const left = skipped.filter(({ key }) => !last.has(key));
  return {
    entries: [...entries, ...left.map((skip) => ({ ...skip, outcome: "skipped" as const }))],
    changes,
  };
}

function skipReason(
  setting: BackupSetting,
  { current, managedBy, allowed, hidden }: PlanDeps,
): Text | undefined {
  const { key, value } = setting;
  // Checked first: the following reasons would reveal something about the stored setting.
  if (allowed?.(setting) === false) return message("NOT_WRITABLE_BY_TOKEN");
  const now = current(key);
  const isOther = hidden?.(setting) === true || now?.value !== value;
  if (now?.flag === FLAG.readonly && isOther) return message("READONLY");
  const manager = managedBy?.(key);
  if (manager !== undefined && isOther) return message("MANAGED_BY_FILE", { file: manager });
  if (value === MASK && (now === undefined || now.secret)) return message("MASKED_IN_BACKUP");
  return key === TOKEN_KEY ? tokenReason(value) : undefined;
}

/** A token that can't be used is left out, so that it does not stop the rest. */
function tokenReason(token: string): Text | undefined {
  const problem = checkToken(token);
  return problem === undefined ? undefined : message("STAYS_AS_IT_IS", { reason: problem });
}

function whatIsKept(setting: BackupSetting, current: CurrentSetting | undefined): BackupSetting {
  const { key, value } = setting;
  if (current?.definition !== undefined) {
    const { type, options, help, group, flag } = current;
    return { key, value, type, options, help, group, flag };
  }
  // A deprecated setting does not become active again through an older backup.
  const flag = current?.flag === FLAG.deprecated ? FLAG.deprecated : setting.flag;
  return { ...setting, type: setting.type === "" ? "string" : setting.type, flag };
}

function isSame(a: BackupSetting, b: CurrentSetting): boolean {
  return (
    a.value === b.value &&
    a.type === b.type &&
    a.options === b.options &&
    a.help === b.help &&
    a.group === b.group &&
    a.flag === b.flag
  );
}
