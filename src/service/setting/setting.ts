import { Code } from "@connectrpc/connect";
import type { createAria2Client } from "../../downloader/aria2.ts";
import type { createQbittorrentClient } from "../../downloader/qbittorrent.ts";
import type { RevisionOrigin } from "../../store/setting-store.ts";
import { failedPrecondition, invalid, notFound, ServiceError, type Violation } from "../error.ts";
import type { Engine } from "./engine.ts";
import { FLAG, type SettingItem } from "./item.ts";
import { decideSave, decideValue, MAX_SAVE_ITEMS, type SettingInput } from "./save.ts";
import type { Snapshot } from "./snapshot.ts";
import { generateToken, TOKEN_KEY } from "./token.ts";

export interface SettingServiceDeps {
  readonly engine: Engine;
  readonly aria2: ReturnType<typeof createAria2Client>;
  readonly qbittorrent: ReturnType<typeof createQbittorrentClient>;
  readonly randomBytes: (size: number) => Buffer;
}

/** The rules of settings. Reads are of the newest revision that this process knows. */
export interface SettingService {
  snapshot(): Snapshot;
  /**
   * Settings in list order.
   *
   * @param groups only these groups; none: all. Unknown groups are empty.
   */
  list(groups: readonly number[]): readonly SettingItem[];
  /** @throws NOT_FOUND naming the key. */
  get(key: string): SettingItem;
  /** @throws NOT_FOUND naming the first unknown key; INVALID_ARGUMENT for none or too many keys. */
  batchGet(keys: readonly string[]): readonly SettingItem[];
  /** @throws INVALID_ARGUMENT with every violation; nothing is written then. */
  save(inputs: readonly SettingInput[], origin: RevisionOrigin): Promise<{ revision: number }>;
  /** @throws NOT_FOUND; FAILED_PRECONDITION unless the setting is deprecated. */
  delete(key: string, origin: RevisionOrigin): Promise<{ revision: number }>;
  resetToken(origin: RevisionOrigin): Promise<{ token: string; revision: number }>;
  /** Asks first, stores then. @throws what src/downloader/aria2.ts says; nothing is stored then. */
  setAria2(
    input: { readonly uri: string | undefined; readonly secret: string | undefined },
    origin: RevisionOrigin,
    signal: AbortSignal,
  ): Promise<{ version: string; revision: number }>;
  /** Asks first, stores then. @throws what src/downloader/qbittorrent.ts says, likewise. */
  setQbittorrent(
    input: { readonly url: string | undefined; readonly seedtime: number | undefined },
    origin: RevisionOrigin,
    signal: AbortSignal,
  ): Promise<{ version: string; revision: number }>;
}

export function createSettingService(deps: SettingServiceDeps): SettingService {
  const { engine } = deps;
  const { snapshot } = engine;
  const get = (key: string): SettingItem => {
    const item = snapshot().get(key);
    if (item === undefined) throw notFound(`there is no setting "${key}"`);
    return item;
  };
  return {
    snapshot,
    get,
    list: (groups) => listOf(snapshot(), groups),
    batchGet: (keys) => {
      checkBatch(keys);
      return keys.map(get);
    },
    save: (inputs, origin) => engine.change(origin, (draft) => decideSave(draft, inputs)),
    delete: (key, origin) =>
      engine.change(origin, (draft) => {
        const item = draft.get(key);
        if (item === undefined) throw notFound(`there is no setting "${key}"`);
        if (item.flag !== FLAG.deprecated)
          throw failedPrecondition(
            `the setting "${key}" is in use; only deprecated ones (flag 3) can be deleted`,
          );
        draft.delete(key);
      }),
    resetToken: async (origin) => {
      const token = generateToken(deps.randomBytes);
      const { revision } = await engine.change(origin, (draft) =>
        decideValue(draft, TOKEN_KEY, token),
      );
      return { token, revision };
    },
    setAria2: async ({ uri, secret }, origin, signal) => {
      const given = required({ uri, secret });
      const { version } = await deps.aria2.getVersion({ ...given, signal });
      const { revision } = await engine.change(origin, (draft) => {
        decideValue(draft, "aria2_uri", given.uri);
        decideValue(draft, "aria2_secret", given.secret);
      });
      return { version, revision };
    },
    setQbittorrent: async ({ url, seedtime }, origin, signal) => {
      const given = required({ url, seedtime });
      const { version } = await deps.qbittorrent.checkLogin({ url: given.url, signal });
      const { revision } = await engine.change(origin, (draft) => {
        decideValue(draft, "qbittorrent_url", given.url);
        decideValue(draft, "qbittorrent_seedtime", String(given.seedtime));
      });
      return { version, revision };
    },
  };
}

/** Members that must be there, all missing ones named at once. */
function required<T extends Record<string, unknown>>(
  members: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const violations: Violation[] = Object.entries(members)
    .filter(([, value]) => value === undefined)
    .map(([field]) => ({ field, description: `"${field}" is missing` }));
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
  return members as { [K in keyof T]: Exclude<T[K], undefined> };
}

function listOf(snapshot: Snapshot, groups: readonly number[]): readonly SettingItem[] {
  const items = [...snapshot.items()];
  if (groups.length === 0) return items;
  const asked = new Set(groups);
  return items.filter((item) => asked.has(item.group));
}

function checkBatch(keys: readonly string[]): void {
  if (keys.length === 0) throw new ServiceError(Code.InvalidArgument, "give at least one key");
  if (keys.length > MAX_SAVE_ITEMS)
    throw new ServiceError(
      Code.InvalidArgument,
      `give at most ${MAX_SAVE_ITEMS} keys, not ${keys.length}`,
    );
}
