import { Code } from "@connectrpc/connect";
import type { Aria2Client } from "../downloaders/aria2.ts";
import type { QbittorrentClient } from "../downloaders/qbittorrent.ts";
import { explainConflict, RevisionConflict } from "../ledger/conflict.ts";
import type { Draft } from "../ledger/draft.ts";
import { createLine, type Line, readEtag } from "../ledger/etag.ts";
import { explained, type HistoryStore } from "../ledger/history.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createRecordEtags, revisionOfRecord } from "../ledger/record-etag.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { Changed, ChangeOptions, Decide } from "../ledger/writer.ts";
import {
  failedPrecondition,
  invalid,
  notFound,
  ServiceError,
  type Violation,
} from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { message } from "../messages/message.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import {
  hasStale,
  refuseChanged,
  refuseMoved,
  retryWhileMoved,
  type Settled,
  settingEtag,
  withoutStale,
} from "./conflict.ts";
import { FLAG, type SettingItem, type Skipped } from "./item.ts";
import { SETTINGS, settingNamed } from "./kind.ts";
import type { Rights, SettingOrigin } from "./rights.ts";
import {
  decideSave,
  decideValue,
  isHidden,
  MAX_SAVE_ITEMS,
  type SaveRules,
  type SettingInput,
} from "./save.ts";
import { generateToken, TOKEN_KEY } from "./token.ts";

export interface SettingServiceDeps extends SaveRules, Downloaders {
  readonly ledger: Ledger;
  readonly store: HistoryStore;
  readonly fingerprint: Fingerprint;
  readonly randomBytes: (size: number) => Buffer;
  /** Called with the settings that a save has left unchanged. */
  readonly onSkipped: (skipped: readonly Skipped[], origin: SettingOrigin) => void;
}

/** Conditions and modes of a change. */
interface ChangeConditions extends ChangeOptions {
  /** Required newest revision; ABORTED if anything has changed since. */
  readonly expectedRevision?: number | undefined;
}

/** Service for settings. Reads return the newest revision known to this process. */
export interface SettingService extends DownloaderService {
  snapshot(): Snapshot;
  /** The revisions of this database. */
  readonly line: Line;
  /** Etag of a setting. */
  etagOf(item: SettingItem): string;
  /** Returns the file that manages a key; undefined: clients manage it. */
  managedBy(key: string): string | undefined;
  /**
   * Settings in list order.
   *
   * @param groups only these groups; none: all. Unknown groups are empty.
   */
  list(groups: readonly number[]): readonly SettingItem[];
  /**
   * Settings with their defaults as values; read-only settings have their current values. Settings
   * with a random initial value are omitted.
   *
   * @param groups as for list.
   */
  defaults(groups: readonly number[]): readonly SettingItem[];
  /** @throws NOT_FOUND naming the key. */
  get(key: string): SettingItem;
  /**
   * Settings in the order of the given keys, without duplicates.
   *
   * @throws NOT_FOUND naming the first unknown key; INVALID_ARGUMENT for none or too many keys.
   */
  batchGet(keys: readonly string[]): readonly SettingItem[];
  /**
   * Saves all settings or none; readonly settings stay unchanged.
   *
   * @returns the readonly settings that were sent with another value and the outdated values of a
   *   page, with the change.
   * @throws INVALID_ARGUMENT with every violation; FAILED_PRECONDITION; ABORTED.
   */
  save(
    inputs: readonly SettingInput[],
    origin: SettingOrigin,
    conditions?: ChangeConditions,
  ): Promise<Changed<readonly Skipped[]>>;
  /**
   * @param conditions.expectedEtag of the setting, or of a read.
   * @throws NOT_FOUND; FAILED_PRECONDITION unless the setting is deprecated; ABORTED.
   */
  delete(
    key: string,
    origin: SettingOrigin,
    conditions?: { readonly expectedEtag?: string | undefined },
  ): Promise<Changed<void>>;
  resetToken(origin: SettingOrigin): Promise<{ token: string; revision: number }>;
}

export function createSettingService(deps: SettingServiceDeps): SettingService {
  const { ledger, fingerprint, managedBy, maxValueBytes } = deps;
  const rules = { managedBy, maxValueBytes };
  const { snapshot } = ledger;
  const store = explained(deps.store);
  const line = createLine({ store, snapshot });
  const etags = createRecordEtags(fingerprint);
  const get = (key: string): SettingItem => {
    const item = snapshot().get(SETTINGS, key);
    if (item === undefined) throw unknownSetting(key);
    return item;
  };
  const explain = async (error: unknown, rights: Rights | undefined): Promise<unknown> =>
    error instanceof RevisionConflict
      ? explainConflict(error, { store, nameOf: ledger.nameOf, rights })
      : error;
  /**
   * Removes inputs that only repeat an older state according to the history.
   *
   * @throws ABORTED when the history does not show the client's changes.
   */
  const settled = async (
    sent: readonly SettingInput[],
    base: Snapshot,
    { actor, rights }: SettingOrigin,
  ): Promise<Settled<SettingInput>> => {
    try {
      return await withoutStale(sent, base, { store, fingerprint, etags, actor });
    } catch (error) {
      throw await explain(error, rights);
    }
  };
  const change = <T>(
    origin: SettingOrigin,
    conditions: ChangeConditions,
    decide: Decide<T>,
  ): Promise<Changed<T>> => {
    const { expectedRevision } = conditions;
    const decideAt = (draft: Draft): T | Promise<T> => {
      if (expectedRevision !== undefined && expectedRevision !== draft.revision)
        throw new RevisionConflict(expectedRevision);
      return decide(draft);
    };
    return ledger.change(origin, decideAt, conditions).catch(async (error: unknown) => {
      throw await explain(error, origin.rights);
    });
  };
  /** Sets known settings for a client, as a save would. */
  const set = async (
    origin: SettingOrigin,
    values: Record<string, string>,
    options: ChangeOptions = {},
  ): Promise<Changed<void>> =>
    change(origin, options, (draft) => {
      for (const [key, value] of Object.entries(values)) {
        const hides = origin.rights?.hides;
        const now = draft.get(SETTINGS, key);
        if (isHidden(now, value, hides) || now?.value !== value) checkManaged(key, managedBy(key));
        decideValue(draft, key, value, hides);
      }
    });
  return {
    snapshot,
    line,
    etagOf: (item) => settingEtag(item, etags),
    managedBy,
    get,
    list: (groups) => listOf(snapshot(), groups),
    defaults: (groups) => listOf(snapshot(), groups).flatMap(defaultOf),
    batchGet: (keys) => {
      checkKeyCount(keys);
      return [...new Set(keys)].map(get);
    },
    save: async (all, origin, conditions = {}) => {
      const { rights } = origin;
      // One more than the maximum, so that the save is rejected.
      const sent = all.slice(0, MAX_SAVE_ITEMS + 1);
      rights?.require(sent.map(({ key }) => key));
      const saveRules = { ...rules, hides: rights?.hides };
      const decide = (
        { inputs, outdated }: Settled<SettingInput>,
        base: Snapshot,
      ): Promise<Changed<readonly Skipped[]>> =>
        change(origin, conditions, async (draft) => {
          refuseChanged(draft, inputs, etags);
          refuseMoved(draft, inputs, base);
          const skipped = await decideSave(draft, inputs, saveRules);
          return outdated.length === 0 ? skipped : [...skipped, ...outdated];
        });
      const changed = await retryWhileMoved(() => {
        const base = snapshot();
        const inputs = sent.map((input) => withoutSeen(input, base, rights?.hides));
        // Most saves do not need the history, and each await allocates memory in every save.
        return hasStale(inputs, base, etags)
          ? settled(inputs, base, origin).then((found) => decide(found, base))
          : decide({ inputs, outdated: [] }, base);
      });
      if (changed.result.length > 0) deps.onSkipped(changed.result, origin);
      return changed;
    },
    delete: async (key, origin, conditions = {}) => {
      origin.rights?.require([key]);
      const { expectedEtag } = conditions;
      // The etag of a setting, or of a state.
      const isOfSetting =
        expectedEtag !== undefined &&
        readEtag(expectedEtag) === undefined &&
        revisionOfRecord(expectedEtag) !== undefined;
      const expected =
        expectedEtag === undefined || isOfSetting ? undefined : await line.require(expectedEtag);
      return change(origin, {}, (draft) => {
        if (isOfSetting && draft.get(SETTINGS, key) !== undefined)
          refuseChanged(draft, [{ key, expectedEtag }], etags);
        decideDelete(draft, key, expected);
      });
    },
    resetToken: async (origin) => {
      const token = generateToken(deps.randomBytes);
      const { revision } = await set(origin, { [TOKEN_KEY]: token }, { isOwn: true });
      return { token, revision };
    },
    ...createDownloaderService(deps, set),
  };
}

/**
 * Removes the read etag of a setting whose value the caller may not read: it cannot be
 * compared.
 */
function withoutSeen(input: SettingInput, base: Snapshot, hides: SaveRules["hides"]): SettingInput {
  if (!isHidden(base.get(SETTINGS, input.key), input.value, hides)) return input;
  const { seenEtag: _seen, ...rest } = input;
  return rest;
}

function unknownSetting(key: string): ServiceError {
  return notFound(message("SETTING_NOT_FOUND", { key: key.slice(0, 255) }));
}

function decideDelete(draft: Draft, key: string, expected: number | undefined): void {
  const item = draft.get(SETTINGS, key);
  if (item === undefined) throw unknownSetting(key);
  if (expected !== undefined && (item.revision > expected || expected > draft.revision))
    throw new RevisionConflict(expected, settingNamed(key));
  if (item.flag !== FLAG.deprecated) throw failedPrecondition(message("SETTING_IN_USE", { key }));
  draft.delete(SETTINGS, key);
}

function defaultOf(item: SettingItem): SettingItem[] {
  const { definition, key, flag } = item;
  if (definition === undefined || key === TOKEN_KEY) return [];
  return [flag === FLAG.readonly ? item : { ...item, value: definition.default }];
}

function listOf(snapshot: Snapshot, groups: readonly number[]): readonly SettingItem[] {
  const items = [...snapshot.of(SETTINGS).items()];
  if (groups.length === 0) return items;
  const asked = new Set(groups);
  return items.filter((item) => asked.has(item.group));
}

/** @throws INVALID_ARGUMENT. */
function checkKeyCount(keys: readonly string[]): void {
  if (keys.length === 0) throw new ServiceError(Code.InvalidArgument, message("KEYS_MISSING"));
  if (keys.length > MAX_SAVE_ITEMS)
    throw new ServiceError(
      Code.InvalidArgument,
      message("TOO_MANY_KEYS", { most: MAX_SAVE_ITEMS, count: keys.length }),
    );
}

/** Checks download managers before their settings are stored. */
interface Downloaders {
  readonly aria2: Aria2Client;
  readonly qbittorrent: QbittorrentClient;
}

/** Settings of download managers. */
interface DownloaderService {
  /** Connects first, then stores. @throws the errors of src/downloaders/aria2.ts. */
  setAria2(
    input: { readonly uri: string | undefined; readonly secret: string | undefined },
    origin: SettingOrigin,
    signal: AbortSignal,
  ): Promise<{ version: string; revision: number }>;
  /** Connects first, then stores. @throws the errors of src/downloaders/qbittorrent.ts. */
  setQbittorrent(
    input: { readonly url: string | undefined; readonly seedtime: number | undefined },
    origin: SettingOrigin,
    signal: AbortSignal,
  ): Promise<{ version: string; revision: number }>;
}

/** @param set stores known settings for a client, as a save would. */
function createDownloaderService(
  { aria2, qbittorrent }: Downloaders,
  set: (origin: SettingOrigin, values: Record<string, string>) => Promise<Changed<void>>,
): DownloaderService {
  return {
    setAria2: async (input, origin, signal) => {
      origin.rights?.require(["aria2_uri", "aria2_secret"]);
      const { uri, secret } = required({ uri: input.uri, secret: input.secret });
      const { version } = await aria2.getVersion({ uri, secret, signal });
      const { revision } = await set(origin, { aria2_uri: uri, aria2_secret: secret });
      return { version, revision };
    },
    setQbittorrent: async (input, origin, signal) => {
      origin.rights?.require(["qbittorrent_url", "qbittorrent_seedtime"]);
      const { url } = required({ url: input.url });
      const { seedtime } = input;
      const { version } = await qbittorrent.checkLogin({ url, signal });
      const { revision } = await set(origin, {
        qbittorrent_url: url,
        ...(seedtime === undefined ? {} : { qbittorrent_seedtime: String(seedtime) }),
      });
      return { version, revision };
    },
  };
}

/** @throws INVALID_ARGUMENT that names all missing members. */
function required<T extends Record<string, unknown>>(
  members: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const violations: Violation[] = Object.entries(members)
    .filter(([, value]) => value === undefined)
    .map(([field]) => ({ field, description: message("FIELD_MISSING", { field }) }));
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
  return members as { [K in keyof T]: Exclude<T[K], undefined> };
}
