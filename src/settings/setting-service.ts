import type { Line } from "../ledger/etag.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { Changed } from "../ledger/writer.ts";
import type { SettingItem, Skipped } from "./item.ts";
import type { SettingOrigin } from "./rights.ts";
import type { SettingInput } from "./save.ts";
import type { ChangeConditions } from "./setting-changes.ts";

/** Service for settings. Reads return the newest revision known to this process. */
export interface SettingService {
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
