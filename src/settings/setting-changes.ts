import { explainConflict, RevisionConflict } from "../ledger/conflict.ts";
import type { Draft } from "../ledger/draft.ts";
import type { HistoryStore } from "../ledger/history.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Changed, ChangeOptions, Decide } from "../ledger/writer.ts";
import { checkManaged } from "../messages/managed.ts";
import { SETTINGS } from "./kind.ts";
import type { Rights, SettingOrigin } from "./rights.ts";
import { decideValue, isHidden, type SaveRules } from "./save.ts";

/** Conditions and modes of a change. */
export interface ChangeConditions extends ChangeOptions {
  /** Required newest revision; ABORTED if anything has changed since. */
  readonly expectedRevision?: number | undefined;
}

/** Changes of settings in the ledger. */
export interface SettingChanges {
  /** @throws ABORTED that names what has changed since; the errors of `decide`. */
  change<T>(
    origin: SettingOrigin,
    conditions: ChangeConditions,
    decide: Decide<T>,
  ): Promise<Changed<T>>;
  /** Sets known settings for a client, as a save would. */
  set(
    origin: SettingOrigin,
    values: Readonly<Record<string, string>>,
    options?: ChangeOptions,
  ): Promise<Changed<void>>;
  /** The error for a client: a conflict becomes ABORTED with the changes that the rights show. */
  explain(error: unknown, rights: Rights | undefined): Promise<unknown>;
}

export function createSettingChanges({
  ledger,
  store,
  managedBy,
}: {
  readonly ledger: Pick<Ledger, "change" | "nameOf">;
  readonly store: HistoryStore;
  readonly managedBy: SaveRules["managedBy"];
}): SettingChanges {
  const changes: SettingChanges = {
    change: async <T>(
      origin: SettingOrigin,
      { expectedRevision, ...options }: ChangeConditions,
      decide: Decide<T>,
    ) => {
      const decideAt = (draft: Draft): T | Promise<T> => {
        if (expectedRevision !== undefined && expectedRevision !== draft.revision)
          throw new RevisionConflict(expectedRevision);
        return decide(draft);
      };
      try {
        return await ledger.change(origin, decideAt, options);
      } catch (error) {
        throw await changes.explain(error, origin.rights);
      }
    },
    set: (origin, values, options = {}) =>
      changes.change(origin, options, (draft) => {
        const hides = origin.rights?.hides;
        for (const [key, value] of Object.entries(values)) {
          const now = draft.get(SETTINGS, key);
          if (isHidden(now, value, hides) || now?.value !== value)
            checkManaged(key, managedBy(key));
          decideValue(draft, key, value, hides);
        }
      }),
    explain: async (error, rights) =>
      error instanceof RevisionConflict
        ? explainConflict(error, { store, nameOf: ledger.nameOf, rights })
        : error,
  };
  return changes;
}
