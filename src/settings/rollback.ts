import { parseDefinition, toChange } from "../ledger/commit.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Kind } from "../ledger/kind.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { StoredChange } from "../ledger/store.ts";
import { message, type Text } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createTicks } from "../ticks.ts";
import { type RedirectRules, redirectedSecrets } from "./destination.ts";
import { FLAG, type SettingItem, type Skipped } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { isMountChange } from "./mount-key.ts";
import { redirection } from "./save.ts";

export interface RollbackRules {
  readonly fingerprint: Fingerprint;
  /** Returns the file that manages a key; undefined: clients manage it. */
  readonly managedBy: (key: string) => string | undefined;
  /** Reports whether the caller may not read the values of a change. Default: none. */
  readonly hidesChange?: ((change: StoredChange) => boolean) | undefined;
  /** Reports whether the caller may not read the value of a secret. Default: none. */
  readonly hides?: RedirectRules["hides"];
}

/**
 * Changes between a snapshot and a draft, one per key. A rollback reads the history up to the
 * snapshot before it is decided, while other saves continue.
 */
export function changesAfter(
  base: Snapshot,
  draft: Draft,
  fingerprint: Fingerprint,
  kind: Kind<SettingItem> = SETTINGS,
): StoredChange[] {
  if (base.revision === draft.revision) return [];
  const codec = { hash: fingerprint.of };
  const keys = new Set([...draft.keys(kind), ...base.of(kind).keys()]);
  return [...keys]
    .map((key) => ({ kind, key, before: base.get(kind, key), after: draft.get(kind, key) }))
    .filter((one) => one.before?.revision !== one.after?.revision)
    .map((replacement) => toChange(replacement, codec));
}

/**
 * Undoes changes on a draft.
 *
 * @returns the items that can't be restored, with the reasons.
 */
export async function decideRollback(
  draft: Draft,
  since: readonly StoredChange[],
  { fingerprint, managedBy, hidesChange = () => false, hides }: RollbackRules,
): Promise<Skipped[]> {
  const ticks = createTicks();
  const skipped: Skipped[] = [];
  for (const change of since) {
    if (ticks.isDue()) await ticks.next();
    // Mounts have their own rollback.
    if (isMountChange(change)) continue;
    const redirected = isUndone(draft, change)
      ? []
      : redirectedSecrets(draft, change.key, { hides });
    const reason =
      change.oldHash !== null && hidesChange(change)
        ? SECRET
        : redirected.length > 0
          ? redirection(change.key, redirected)
          : undo(draft, change, fingerprint, managedBy(change.key));
    if (reason !== undefined) skipped.push({ key: change.key, reason });
  }
  return skipped;
}

/** Reports whether a setting has the value again that it had before a change. */
function isUndone(draft: Draft, { key, oldBody: oldValue }: StoredChange): boolean {
  const current = draft.get(SETTINGS, key);
  return current?.value === (oldValue ?? current?.definition?.default);
}

const SECRET = message("SECRET_NOT_IN_HISTORY");

function undo(
  draft: Draft,
  change: StoredChange,
  fingerprint: Fingerprint,
  manager: string | undefined,
): Text | undefined {
  const { key, oldHash } = change;
  const current = draft.get(SETTINGS, key);
  if (oldHash !== null)
    return current !== undefined && fingerprint.isOf(oldHash, current.value) === true
      ? undefined
      : SECRET;
  // A known setting cannot be deleted; before its first save it had its default.
  const oldValue = change.oldBody ?? current?.definition?.default;
  if (current?.flag === FLAG.readonly && current.definition !== undefined)
    return current.value === oldValue ? undefined : message("SET_BY_PROGRAM");
  if (manager !== undefined)
    return current?.value === oldValue ? undefined : message("MANAGED_BY_FILE", { file: manager });
  if (oldValue === undefined) {
    draft.delete(SETTINGS, key);
    return undefined;
  }
  if (current?.origin === "known") {
    draft.put(SETTINGS, { ...current, value: oldValue });
    return undefined;
  }
  const definition = parseDefinition(change.oldAttributes);
  if (definition === undefined) return message("SETTING_OF_EARLIER_VERSION");
  draft.put(SETTINGS, {
    key,
    value: oldValue,
    ...definition,
    secret: false,
    position: current?.position ?? draft.nextPosition(SETTINGS),
    revision: 0,
    origin: "custom",
    definition: undefined,
  });
  return undefined;
}
