import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { StoredChange } from "../ledger/store.ts";
import { refusalOf } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { mapInTicks } from "../ticks.ts";
import { parseDescription } from "./attributes.ts";
import { redirectedSecrets } from "./destination.ts";
import { FLAG, type SettingDescription, type SettingItem } from "./item.ts";
import { oldHashOf, SETTINGS } from "./kind.ts";
import type { Rights } from "./rights.ts";
import { redirection } from "./save.ts";

/** Rules of a restore in addition to the draft. */
export interface RestoreRules {
  readonly fingerprint: Pick<Fingerprint, "isOf">;
  /** Returns the file that manages a key; undefined: clients manage it. */
  readonly managedBy: (key: string) => string | undefined;
  /** Rights of the caller. */
  readonly rights: Pick<Rights, "isMaskedChange" | "hides" | "requireWrite">;
}

/** Restores settings of a draft to their state before the given changes. */
export async function restoreSettings(
  draft: Draft,
  changes: readonly StoredChange[],
  rules: RestoreRules,
): Promise<RecordResult[]> {
  return mapInTicks(changes, (change) => restoreSetting(draft, change, rules));
}

function restoreSetting(draft: Draft, change: StoredChange, rules: RestoreRules): RecordResult {
  const { key } = change;
  const before = draft.get(SETTINGS, key);
  const reason = obstacleTo(draft, change, rules);
  if (reason !== undefined) return resultAs(key, "skipped", reason);
  const after = stateBefore(draft, change);
  if (after === "unknown") return resultAs(key, "skipped", message("SETTING_OF_EARLIER_VERSION"));
  const refusal = refusalOf(() =>
    rules.rights.requireWrite({ kind: SETTINGS, key, before, after }),
  );
  if (refusal !== undefined) return resultAs(key, "skipped", refusal.text, { refusal });
  if (after === undefined) {
    if (before === undefined) return resultAs(key, "unchanged");
    draft.delete(SETTINGS, key);
    return resultAs(key, "deleted");
  }
  draft.put(SETTINGS, after);
  if (before === undefined) return resultAs(key, "created");
  const differs = COMPARED.filter((member) => before[member] !== after[member]);
  return resultAs(key, differs.length === 0 ? "unchanged" : "changed", "", { differs });
}

/** Members of a setting that a restore changes. */
const COMPARED = ["value", "type", "options", "help", "group", "flag"] as const satisfies readonly (
  | "value"
  | keyof SettingDescription
)[];

/** Reason for which a setting cannot be restored; undefined: none. */
function obstacleTo(
  draft: Draft,
  change: StoredChange,
  { fingerprint, managedBy, rights }: RestoreRules,
): Text | undefined {
  const { key } = change;
  const oldHash = oldHashOf(change);
  const current = draft.get(SETTINGS, key);
  if (oldHash !== undefined && rights.isMaskedChange(change)) return SECRET;
  const redirected = isUndone(current, change) ? [] : redirectedSecrets(draft, key, rights);
  if (redirected.length > 0) return redirection(key, redirected);
  if (oldHash !== undefined)
    return current !== undefined && fingerprint.isOf(oldHash, current.value) === true
      ? undefined
      : SECRET;
  if (isUndone(current, change)) return undefined;
  if (current?.flag === FLAG.readonly && current.definition !== undefined)
    return message("SET_BY_PROGRAM");
  const file = managedBy(key);
  return file === undefined ? undefined : message("MANAGED_BY_FILE", { file });
}

const SECRET = message("SECRET_NOT_IN_HISTORY");

/** Reports whether a setting has the value again that it had before a change. */
function isUndone(current: SettingItem | undefined, change: StoredChange): boolean {
  return current?.value === valueBefore(current, change);
}

/** A known setting cannot be deleted; before its first save it had its default. */
function valueBefore(
  current: SettingItem | undefined,
  { oldBody }: StoredChange,
): string | undefined {
  return oldBody ?? current?.definition?.default;
}

/**
 * State of a setting before a change. Undefined: it did not exist. `unknown`: it was defined by
 * another version of the program.
 */
function stateBefore(draft: Draft, change: StoredChange): SettingItem | undefined | "unknown" {
  const { key } = change;
  const current = draft.get(SETTINGS, key);
  // The obstacles have found that the secret is the same.
  if (oldHashOf(change) !== undefined) return current;
  const value = valueBefore(current, change);
  if (value === undefined) return undefined;
  if (current?.origin === "known") return { ...current, value };
  const definition = parseDescription(change.oldAttributes);
  if (definition === undefined) return "unknown";
  return {
    key,
    value,
    ...definition,
    secret: false,
    position: current?.position ?? draft.nextPosition(SETTINGS),
    revision: 0,
    origin: "custom",
    definition: undefined,
  };
}
