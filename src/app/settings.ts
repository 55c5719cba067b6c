import { randomBytes } from "node:crypto";
import type { Config } from "../config/config.ts";
import { createAria2Client } from "../downloaders/aria2.ts";
import { createQbittorrentClient } from "../downloaders/qbittorrent.ts";
import type { RecordKind } from "../history/kind.ts";
import { startCompaction } from "../ledger/compaction.ts";
import { createFeed, type Feed } from "../ledger/feed.ts";
import { createHistory, type History } from "../ledger/history.ts";
import type { AnyRules } from "../ledger/kind.ts";
import { createLedger, type Ledger } from "../ledger/ledger.ts";
import { rehashSecrets, startErasing } from "../ledger/sealing.ts";
import type { LedgerStore } from "../ledger/store.ts";
import { createFingerprint, type Fingerprint } from "../secrets/fingerprint.ts";
import { createSealer } from "../secrets/sealer.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { definitionsOf } from "../settings/definition-file.ts";
import { settingsKind } from "../settings/history-kind.ts";
import { settingLimits, settingRules } from "../settings/kind.ts";
import { createPublicSettings, type PublicSettings } from "../settings/public-settings.ts";
import { createSettingService } from "../settings/service.ts";
import type { SettingService } from "../settings/setting-service.ts";
import { startSettings } from "../settings/start.ts";
import type { Logger } from "../telemetry/log.ts";

/** Interval of bookmarks for watchers, in milliseconds. */
const BOOKMARK_INTERVAL = 15_000;
/** Interval of checks for old revisions, in milliseconds. */
const COMPACTION_INTERVAL = 60_000;
/** Interval of attempts to erase the clear text of sealed secrets, in milliseconds. */
const ERASE_INTERVAL = 10_000;
/** Interval of log lines for a continuing failure, in milliseconds. */
const REPORT_INTERVAL = 10_000;

export interface SettingServiceOptions {
  readonly store: LedgerStore;
  readonly log: Logger;
  /** Log for events that every process on this database observes. Default: the log. */
  readonly commonLog?: Logger;
  /** Called after each change of records, with the duration of its transaction in milliseconds. */
  readonly onTransaction?: ((duration: number) => void) | undefined;
  /** Kinds of records in the database besides settings. Default: none. */
  readonly otherKinds?: readonly AnyRules[];
  /** The program's version, such as `v0.1.0`. */
  readonly version: string;
  /** File that declares a setting; undefined: clients change it. */
  readonly managedBy: (key: string) => string | undefined;
  /** Whether revisions beyond the retention of the configuration are deleted. Default: true. */
  readonly compacts?: boolean;
  /** Shows the token generated at the first start: the only time that it is shown. */
  readonly showToken: (token: string) => void;
}

/** Everything about settings, on one store. */
export interface SettingServices {
  readonly ledger: Ledger;
  readonly fingerprint: Fingerprint;
  readonly feed: Feed;
  readonly history: History;
  readonly settings: SettingService;
  /** Settings as a kind of records in the history. */
  readonly kind: RecordKind;
  readonly publicReads: PublicSettings;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  /**
   * Writes the settings of a start: the version and, at the first start, the token. Runs after the
   * files of the deployment were applied: a wrong file ends the start, and a token is shown only once.
   */
  begin(): Promise<void>;
  /** Stops the background jobs; the store stays open. */
  close(): Promise<void>;
}

/**
 * Creates the services of settings and seals unsealed secrets.
 *
 * @throws Error with a message for the operator.
 */
export async function startSettingServices(
  config: Config,
  options: SettingServiceOptions,
): Promise<SettingServices> {
  const { store, log, commonLog = log, version, otherKinds = [], managedBy, showToken } = options;
  const { compacts = true } = options;
  const definitions = definitionsOf(config.family);
  const fingerprint = createFingerprint(store.fingerprintKey, config.secretKeys);
  const ledger = await createLedger({
    store,
    kinds: [settingRules(definitions), ...otherKinds],
    sealer: createSealer(config.secretKeys),
    fingerprint,
    limits: settingLimits({
      custom: config.maxCustomSettings,
      bytes: config.maxSettings,
      publicBytes: config.maxPublicSettings,
    }),
    onTransaction: options.onTransaction,
    now: Date.now,
    onReadFailure: throttle(REPORT_INTERVAL, (error) =>
      log.warn({ err: error }, "the database cannot be read; reads are served from memory"),
    ),
  });
  await rehashSecrets({ store, fingerprint, now: Date.now });
  const rules = { managedBy, maxValueBytes: config.maxValue };
  await using opened = new AsyncDisposableStack();
  const { revision } = ledger.snapshot();
  const feed = createFeed({
    store,
    revision,
    idle: BOOKMARK_INTERVAL,
    maxLag: config.streamBuffer,
  });
  ledger.listen(feed);
  if (compacts) {
    const compaction = startCompaction({
      task: "compaction",
      tryAcquireJobSlot: store.tryAcquireJobSlot,
      forget: store.compact,
      maxCount: config.historyRevisions,
      maxAge: config.historyAgeMs,
      interval: COMPACTION_INTERVAL,
      now: Date.now,
      onError: (error) => commonLog.warn({ err: error }, "the history could not be compacted"),
    });
    opened.defer(compaction.stop);
  }
  const stopErasing = await startErasing({
    store,
    interval: ERASE_INTERVAL,
    onLeft: (reason) =>
      log.warn({ reason }, "secrets are sealed, but their clear text is still in a file"),
    onGone: () => log.info("the clear text of sealed secrets was removed from all files"),
    onError: (error) => log.warn({ err: error }, "the clear text of secrets could not be erased"),
  });
  opened.defer(stopErasing);
  const history = createHistory({ store, ledger });
  const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));
  const running = opened.move();
  return {
    ledger,
    fingerprint,
    feed,
    history,
    definitionOf: (key: string) => definitionOf.get(key),
    kind: settingsKind({ snapshot: ledger.snapshot, fingerprint, managedBy }),
    publicReads: createPublicSettings({ ledger }),
    settings: createSettingService({
      ledger,
      store,
      fingerprint,
      ...rules,
      aria2: createAria2Client(),
      qbittorrent: createQbittorrentClient(),
      onSkipped: (skipped, { requestId }) =>
        log.info(
          { keys: skipped.map(({ key }) => key), requestId },
          "read-only or outdated settings of a save were not changed",
        ),
      randomBytes,
    }),
    begin: async () => {
      const { adminToken } = config;
      const token = await startSettings(ledger, { version, adminToken, randomBytes });
      if (token !== undefined) showToken(token);
    },
    close: () => running.disposeAsync(),
  };
}

/**
 * Limits `act` to one call per interval, in milliseconds, so that a continuing failure is logged
 * once.
 */
function throttle<T>(interval: number, act: (value: T) => void): (value: T) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (value) => {
    const now = performance.now();
    if (now - last < interval) return;
    last = now;
    act(value);
  };
}
