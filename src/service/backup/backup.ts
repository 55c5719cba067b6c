import type { RevisionOrigin } from "../../store/setting-store.ts";
import { invalid, type Violation } from "../error.ts";
import type { Draft } from "../setting/draft.ts";
import type { Engine } from "../setting/engine.ts";
import { isRetired } from "../setting/item.ts";
import { decideItems, problemOf } from "../setting/save.ts";
import { normalizeStoredValue } from "../setting/value.ts";
import type { Changed, ChangeOptions } from "../setting/writer.ts";
import type { BackupDocument } from "./document.ts";
import { type ImportInput, readImport } from "./import-source.ts";
import type { PassphraseCipher } from "./passphrase.ts";
import { type ImportEntry, type ImportPlan, planImport } from "./plan.ts";
import type { BackupSetting, ReadBackup } from "./setting.ts";
import { createBackup, type SecretsMode } from "./write.ts";

export interface BackupServiceDeps {
  readonly engine: Engine;
  readonly cipher: PassphraseCipher;
  readonly databaseId: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  readonly managedBy: (key: string) => string | undefined;
}

export interface ImportConditions extends ChangeOptions {
  readonly passphrase: string;
  /** Leave out settings with values that are refused, instead of refusing everything. */
  readonly skipInvalid: boolean;
}

/** Writes backups of the settings and reads them back. */
export interface BackupService {
  /** @throws INVALID_ARGUMENT when the passphrase is too short. */
  export(secrets: SecretsMode): Promise<BackupDocument>;
  /**
   * Reads a backup of any known kind, in one transaction.
   *
   * @returns what became, or with a dry run would become, of each of its settings.
   * @throws INVALID_ARGUMENT when it can't be read, or a value is refused.
   */
  import(
    source: ImportInput,
    origin: RevisionOrigin,
    conditions: ImportConditions,
  ): Promise<Changed<readonly ImportEntry[]>>;
}

export function createBackupService(deps: BackupServiceDeps): BackupService {
  const { engine, cipher, databaseId, now, managedBy } = deps;
  return {
    export: (secrets) => {
      const snapshot = engine.snapshot();
      const content = {
        settings: snapshot.items(),
        revision: snapshot.revision,
        time: now(),
        databaseId,
      };
      return createBackup(content, secrets, cipher);
    },
    import: async (source, origin, { passphrase, skipInvalid, ...options }) => {
      const reading = passphrase === "" ? {} : { passphrase };
      const backup = await readImport(source, reading, cipher);
      return engine.change(
        origin,
        (draft) => {
          const plan = planOn(draft, backup, managedBy);
          if (!skipInvalid) refuseInvalid(plan);
          decideItems(draft, plan.changes, managedBy);
          return plan.entries;
        },
        options,
      );
    },
  };
}

function planOn(
  draft: Draft,
  backup: ReadBackup,
  managedBy: (key: string) => string | undefined,
): ImportPlan {
  return planImport(backup, {
    // Of what an earlier version defined, too, only the value counts.
    current: (key) => {
      const item = draft.get(key);
      return item && { ...item, definition: item.definition ?? (isRetired(item) || undefined) };
    },
    normalize: ({ key, value }: BackupSetting) => {
      const definition = draft.get(key)?.definition;
      return definition === undefined ? value : normalizeStoredValue(definition, value);
    },
    check: (setting) => problemOf(draft, setting),
    managedBy,
  });
}

function refuseInvalid({ entries }: ImportPlan): void {
  const violations: Violation[] = entries
    .filter(({ outcome }) => outcome === "invalid")
    .map(({ key, reason }) => ({ field: key, description: reason }));
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
}
