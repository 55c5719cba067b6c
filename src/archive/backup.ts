import { type FileHandle, open } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isObject } from "../files/json-source.ts";
import { createTrial, type Draft } from "../ledger/draft.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Changed, ChangeOptions, ChangeOrigin } from "../ledger/writer.ts";
import { invalid, notFound, type Violation } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { isRetired } from "../settings/item.ts";
import { SETTINGS } from "../settings/kind.ts";
import type { Rights } from "../settings/rights.ts";
import { decideItems, isHidden, problemOf, type SaveRules } from "../settings/save.ts";
import { TOKEN_KEY } from "../settings/token.ts";
import { normalizeStoredValue } from "../settings/value.ts";
import { isAlistBackup, readAlistBackup } from "./alist-backup.ts";
import { readAlistDatabase } from "./alist-database.ts";
import {
  type BackupDocument,
  createBackup,
  isDocument,
  type ReadOptions,
  readDocument,
  type SecretsMode,
} from "./mooring.ts";
import type { PassphraseCipher, SharedCipher } from "./passphrase.ts";
import { type ImportEntry, type ImportPlan, planImport } from "./plan.ts";
import { checkSize, decodeUtf8, parseBackupJson, unreadable } from "./readable.ts";
import { type BackupSetting, type ReadBackup, readSettings } from "./setting.ts";

export interface BackupServiceDeps extends SaveRules {
  readonly ledger: Ledger;
  readonly cipher: SharedCipher;
  readonly databaseId: string;
  /** Maximum number of custom settings. Default: no limit. */
  readonly maxCustomSettings?: number;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

interface ImportConditions extends ChangeOptions {
  readonly passphrase: string;
  /** Skips settings with invalid values instead of rejecting the whole backup. */
  readonly skipInvalid: boolean;
  /** Imports also values that belong to one server. Default: false. */
  readonly includeServerOwn?: boolean;
  /** Cancels reading a sealed backup that waits. */
  readonly signal?: AbortSignal;
}

/** Writes backups of the settings and reads them back. */
export interface BackupService {
  /**
   * @param rights of the receiver: only visible settings are included, and the permanent token for
   * root only.
   * @param signal cancels a seal that waits.
   * @throws INVALID_ARGUMENT when the passphrase is too short; RESOURCE_EXHAUSTED when too many
   *   others are sealed.
   */
  export(secrets: SecretsMode, rights?: Rights, signal?: AbortSignal): Promise<BackupDocument>;
  /**
   * Reads a backup of any known kind, in one transaction.
   *
   * @returns the outcome of each setting, or with a dry run the expected one.
   * @throws INVALID_ARGUMENT when the backup can't be read or has too many settings, or a value
   *   is invalid.
   */
  import(
    source: ImportInput,
    origin: ChangeOrigin,
    conditions: ImportConditions,
  ): Promise<Changed<readonly ImportEntry[]>>;
}

/** Number of settings in a backup above the maximum of stored ones: an import may skip them. */
const SPARE = 1_000;

export function createBackupService(deps: BackupServiceDeps): BackupService {
  const { ledger, cipher, databaseId, now, maxCustomSettings = Number.POSITIVE_INFINITY } = deps;
  return {
    export: (secrets, rights, signal) => {
      const snapshot = ledger.snapshot();
      const content = {
        settings: [...snapshot.of(SETTINGS).items()].filter(
          (item) =>
            rights === undefined ||
            (rights.canReadItem(item) && (secrets.mode === "omit" || !rights.isMasked(item))),
        ),
        revision: snapshot.revision,
        time: now(),
        databaseId,
      };
      return createBackup(content, secrets, signal === undefined ? cipher : cipher.until(signal));
    },
    import: async (source, origin, conditions) => {
      const { passphrase, skipInvalid, includeServerOwn = false, signal, ...options } = conditions;
      const reading = passphrase === "" ? {} : { passphrase };
      const own = signal === undefined ? cipher : cipher.until(signal);
      const backup = await readImport(source, reading, own);
      const count = backup.settings.length;
      const most = ledger.snapshot().of(SETTINGS).size + maxCustomSettings + SPARE;
      if (count > most) throw unreadable(message("BACKUP_TOO_MANY_SETTINGS", { count, most }));
      // Reading thousands of settings takes as long as planning the import: other work runs in
      // between.
      await nextTurn();
      return ledger.change(
        origin,
        async (draft) => {
          const { rights } = origin;
          const rules = { ...deps, rights, hides: rights?.hides, includeServerOwn };
          const plan = await planOn(draft, backup, rules);
          if (!skipInvalid) refuseInvalid(plan);
          await decideItems(draft, plan.changes, rules);
          return plan.entries;
        },
        options,
      );
    },
  };
}

interface PlanRules extends SaveRules {
  readonly rights: Rights | undefined;
  readonly includeServerOwn: boolean;
}

function planOn(draft: Draft, backup: ReadBackup, rules: PlanRules): Promise<ImportPlan> {
  const trial = createTrial(draft);
  return planImport(backup, {
    // Only the value counts, also for a setting of an earlier version.
    current: (key) => {
      const item = draft.get(SETTINGS, key);
      return item && { ...item, definition: item.definition ?? (isRetired(item) || undefined) };
    },
    normalize: ({ key, value }: BackupSetting) => {
      const definition = draft.get(SETTINGS, key)?.definition;
      return definition === undefined ? value : normalizeStoredValue(definition, value);
    },
    check: (setting) => problemOf(trial, setting, rules),
    managedBy: rules.managedBy,
    includeServerOwn: rules.includeServerOwn,
    hidden: ({ key, value }) => isHidden(draft.get(SETTINGS, key), value, rules.hides),
    allowed: (setting) => isAllowed(draft, setting, rules.rights),
  });
}

/** Reports whether the caller may write a setting. A new setting has the group of the backup. */
function isAllowed(
  draft: Draft,
  { key, group }: BackupSetting,
  rights: Rights | undefined,
): boolean {
  if (rights === undefined) return true;
  const item = draft.get(SETTINGS, key);
  // Writing the permanent token requires the same right as reading it.
  if (rights.isMasked({ key, secret: item?.secret ?? false }) && key === TOKEN_KEY) return false;
  if (item === undefined) return rights.canReadItem({ key, group });
  return (
    rights.canReadItem(item) && (item.origin === "known" || rights.canReadItem({ key, group }))
  );
}

function refuseInvalid({ entries }: ImportPlan): void {
  const violations: Violation[] = entries
    .filter(({ outcome }) => outcome === "invalid")
    .map(({ key, reason }) => ({ field: key, description: reason }));
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
}

const SQLITE_HEADER = "SQLite format 3\0";

/** Source of an import: JSON in the request (parsed or text), or a file on this machine. */
type ImportInput =
  | { readonly value: unknown }
  | { readonly text: string }
  | { readonly path: string };

export interface ImportOptions extends ReadOptions {
  /** Table of the database to read, if several look like settings. */
  readonly table?: string | undefined;
}

/**
 * Reads a backup of any known format: Mooring's own document, a backup file of AList's or
 * OpenList's web page, or the reply of `/api/admin/setting/list` (or only its array of settings). A
 * path may also name the SQLite database of such a server.
 *
 * @throws INVALID_ARGUMENT with the problem, without values; NOT_FOUND for a path without a file.
 */
export async function readImport(
  input: ImportInput,
  options: ImportOptions,
  cipher: PassphraseCipher,
): Promise<ReadBackup> {
  if ("value" in input) return readValue(input.value, options, cipher);
  if ("text" in input) return readValue(parseBackupJson(input.text), options, cipher);
  const text = await readTextFile(input.path);
  return text === undefined
    ? readAlistDatabase(input.path, options.table)
    : readValue(parseBackupJson(text), options, cipher);
}

async function readValue(
  value: unknown,
  options: ReadOptions,
  cipher: PassphraseCipher,
): Promise<ReadBackup> {
  if (isDocument(value)) return readDocument(value, options, cipher);
  if (isAlistBackup(value)) return readAlistBackup(value, options);
  const { data: list } = isObject(value) ? value : { data: value };
  if (Array.isArray(list))
    return { source: "setting-list", settings: readSettings(list), skipped: [] };
  throw unreadable(message("BACKUP_UNKNOWN"));
}

/** @returns undefined when the file is a SQLite database. */
async function readTextFile(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "r");
    const facts = await file.stat();
    if (!facts.isFile()) throw unreadable(message("NOT_A_FILE", { path }));
    const header = Buffer.alloc(SQLITE_HEADER.length);
    await file.read(header, 0, header.length, 0);
    if (header.toString("latin1") === SQLITE_HEADER) return undefined;
    checkSize(facts.size);
    return decodeUtf8(await file.readFile());
  } catch (error) {
    throw explain(path, error);
  } finally {
    await file?.close();
  }
}

function explain(path: string, error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return notFound(message("FILE_NOT_FOUND", { path }));
  if (code === "EACCES" || code === "EPERM") return unreadable(message("FILE_FORBIDDEN", { path }));
  return error;
}
