import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import { type Grant, ROOT } from "../../src/access/grant.ts";
import { type Archive, createArchive } from "../../src/archive/archive.ts";
import type { ImportOptions } from "../../src/archive/import.ts";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import type { Aria2Client } from "../../src/downloaders/aria2.ts";
import type { QbittorrentClient } from "../../src/downloaders/qbittorrent.ts";
import type { DriverInfo } from "../../src/drivers/driver-info.ts";
import { createKinds } from "../../src/history/kinds.ts";
import {
  createRestore,
  type Restore,
  type RestoreOptions,
  type RestoreResult,
} from "../../src/history/restore.ts";
import type { Draft } from "../../src/ledger/draft.ts";
import { createFeed, type Feed } from "../../src/ledger/feed.ts";
import { createHistory, type History } from "../../src/ledger/history.ts";
import { createLedger, type Ledger } from "../../src/ledger/ledger.ts";
import type { LedgerStore, RevisionOrigin } from "../../src/ledger/store.ts";
import { mountRules } from "../../src/mounts/kind.ts";
import { createFingerprint, type Fingerprint } from "../../src/secrets/fingerprint.ts";
import { createSealer } from "../../src/secrets/sealer.ts";
import { createSettingPart } from "../../src/settings/archive/part.ts";
import type { SettingDefinition } from "../../src/settings/definition.ts";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { settingsKind } from "../../src/settings/history-kind.ts";
import { type SettingLimits, settingLimits, settingRules } from "../../src/settings/kind.ts";
import { createPublicSettings, type PublicSettings } from "../../src/settings/public-settings.ts";
import { rightsOf } from "../../src/settings/rights.ts";
import { createSettingService } from "../../src/settings/service.ts";
import type { SettingService } from "../../src/settings/setting-service.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { IMPORT_ALL } from "../archive/import-options.ts";
import { CHEAP } from "../archive/text.ts";

export const definitions = loadSettingDefinitions();

const NO_LIMITS: SettingLimits = {
  custom: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
  publicBytes: Number.POSITIVE_INFINITY,
};

/** Actor of the changes of a test. */
export const tester: RevisionOrigin = {
  actor: "tester",
  transport: "test",
  method: "SaveSettings",
  requestId: "request",
  peer: "127.0.0.1",
  reason: "",
};

export interface PartsOptions {
  readonly definitions?: readonly SettingDefinition[];
  /** Drivers of mounts. Default: unknown ones, whose items are secret. */
  readonly driverOf?: (name: string) => DriverInfo | undefined;
  /** Sealing keys. */
  readonly keys?: readonly string[];
  readonly now?: () => number;
  readonly limits?: Partial<SettingLimits>;
  /** Called between large changes. */
  readonly collect?: () => void;
  readonly managedBy?: (key: string) => string | undefined;
  readonly aria2?: Aria2Client;
  readonly qbittorrent?: QbittorrentClient;
  /** Milliseconds until a reader of the feed gets a bookmark. */
  readonly idle?: number;
  readonly onReadFailure?: (error: unknown) => void;
  /** Wraps the store for the ledger. */
  readonly wrap?: (store: LedgerStore) => LedgerStore;
  /** Longest wait for a lock of another process, in milliseconds. */
  readonly lockWait?: number;
}

/** All parts of settings on one database. */
export interface Parts {
  readonly store: LedgerStore;
  readonly ledger: Ledger;
  readonly feed: Feed;
  readonly history: History;
  readonly fingerprint: Fingerprint;
  readonly settings: SettingService;
  readonly restore: Restore;
  readonly publicReads: PublicSettings;
  /** Archives with settings only. */
  readonly archive: Archive;
  close(): Promise<void>;
}

const unreachable = () => Promise.reject(new Error("this test has no download manager"));

/** Opens a database like the program, without the writes of a start. */
export async function openParts(path: string, options: PartsOptions = {}): Promise<Parts> {
  const { lockWait } = options;
  const opened = await openSqliteStore(path, lockWait === undefined ? {} : { lockWait });
  const store = options.wrap?.(opened) ?? opened;
  const fingerprint = createFingerprint(store.fingerprintKey, options.keys);
  const now = options.now ?? Date.now;
  const managedBy = options.managedBy ?? (() => undefined);
  try {
    const ledger = await createLedger({
      store,
      kinds: [
        settingRules(options.definitions ?? definitions),
        mountRules({
          driverOf: options.driverOf ?? (() => undefined),
          sites: () => ({ nameOf: (id) => id }),
        }),
      ],
      sealer: createSealer(options.keys ?? []),
      fingerprint,
      ...(options.collect && { collect: options.collect }),
      now,
      ...(options.limits === undefined
        ? {}
        : { limits: settingLimits({ ...NO_LIMITS, ...options.limits }) }),
      onReadFailure: options.onReadFailure ?? (() => undefined),
    });
    const { revision } = ledger.snapshot();
    const feed = createFeed({ store, revision, idle: options.idle ?? 60_000 });
    ledger.listen(feed);
    const history = createHistory({ store, ledger });
    return {
      store,
      ledger,
      feed,
      history,
      fingerprint,
      settings: createSettingService({
        maxValueBytes: 65_536,
        onSkipped: () => undefined,
        ledger,
        store,
        fingerprint,
        managedBy,
        randomBytes,
        aria2: options.aria2 ?? { getVersion: unreachable },
        qbittorrent: options.qbittorrent ?? { checkLogin: unreachable },
      }),
      restore: createRestore({
        ledger,
        store,
        history,
        fingerprint,
        kinds: createKinds([settingsKind({ snapshot: ledger.snapshot, fingerprint, managedBy })]),
      }),
      publicReads: createPublicSettings({ ledger }),
      archive: createArchive<Draft>({
        parts: [
          createSettingPart({
            ledger,
            managedBy,
            maxValueBytes: 65_536,
            ...(options.limits !== undefined && {
              maxCustomSettings: options.limits.custom ?? Number.POSITIVE_INFINITY,
            }),
          }),
        ],
        change: ({ grant, origin }, decide, changeOptions) =>
          ledger.change(
            { ...origin, rights: rightsOf(grant, ledger.snapshot) },
            decide,
            changeOptions,
          ),
        revision: () => ledger.snapshot().revision,
        cipher: createPassphraseCipher(randomBytes, CHEAP),
        databaseId: () => store.databaseId,
        version: "v9.8.7",
        now,
      }),
      close: () => opened.close(),
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Like openParts; closed after the test. */
export async function testParts(path: string, options?: PartsOptions): Promise<Parts> {
  const parts = await openParts(path, options);
  onTestFinished(() => parts.close());
  return parts;
}

/** Saves values by key, like a client. */
export function save(parts: Pick<Parts, "settings">, values: Readonly<Record<string, string>>) {
  const inputs = Object.entries(values).map(([key, value]) => ({ key, value }));
  return parts.settings.save(inputs, tester);
}

/** Restores settings, with all rights by default. @param only no key: all. */
export function restore(
  parts: Pick<Parts, "restore">,
  to: number,
  only: readonly string[] = [],
  { grant = ROOT, ...options }: RestoreOptions & { readonly grant?: Grant } = {},
) {
  return parts.restore({ to, only }, { grant, origin: tester }, options);
}

/** Records that a restore has left as they were, with the reasons. */
export function leftBy({ result }: { readonly result: readonly RestoreResult[] }) {
  return result
    .filter(({ outcome }) => outcome === "skipped")
    .map(({ key, note }) => ({ key, reason: note }));
}

/** A definition like those of the program, for tests with their own definitions. */
export function defined(
  members: Partial<SettingDefinition> & { readonly key: string },
): SettingDefinition {
  return Object.freeze({
    type: "string",
    options: "",
    group: 1,
    flag: 1,
    default: "",
    help: "",
    description: "",
    label: "",
    optionLabels: [],
    groupLabel: "",
    families: [],
    secret: false,
    destinationOf: [],
    decimal: false,
    index: 0,
    ...members,
  });
}

/** Caller of an export or import with all rights. */
export const importer = { grant: ROOT, origin: tester };

/** Imports settings from JSON, with all rights. */
export function importSettings(
  { archive }: Pick<Parts, "archive">,
  value: unknown,
  options: Partial<ImportOptions> = {},
) {
  return archive.import(value, importer, { ...IMPORT_ALL, ...options });
}
