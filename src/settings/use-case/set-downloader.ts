import type { Aria2Client } from "../../downloaders/aria2.ts";
import type { QbittorrentClient } from "../../downloaders/qbittorrent.ts";
import { rejectViolations } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import type { SettingChanges } from "../setting-changes.ts";
import type { SettingService } from "../setting-service.ts";

/** Checks download managers before their settings are stored. */
export interface Downloaders {
  readonly aria2: Aria2Client;
  readonly qbittorrent: QbittorrentClient;
}

/** Connects to aria2 with the new settings, then stores them. */
export function setAria2(
  { set }: Pick<SettingChanges, "set">,
  { aria2 }: Downloaders,
): SettingService["setAria2"] {
  return async (input, origin, signal) => {
    origin.rights?.require(["aria2_uri", "aria2_secret"]);
    const { uri, secret } = required({ uri: input.uri, secret: input.secret });
    const { version } = await aria2.getVersion({ uri, secret, signal });
    const { revision } = await set(origin, { aria2_uri: uri, aria2_secret: secret });
    return { version, revision };
  };
}

/** Signs in to qBittorrent with the new settings, then stores them. */
export function setQbittorrent(
  { set }: Pick<SettingChanges, "set">,
  { qbittorrent }: Downloaders,
): SettingService["setQbittorrent"] {
  return async (input, origin, signal) => {
    origin.rights?.require(["qbittorrent_url", "qbittorrent_seedtime"]);
    const { url } = required({ url: input.url });
    const { seedtime } = input;
    const { version } = await qbittorrent.checkLogin({ url, signal });
    const { revision } = await set(origin, {
      qbittorrent_url: url,
      ...(seedtime === undefined ? {} : { qbittorrent_seedtime: String(seedtime) }),
    });
    return { version, revision };
  };
}

/** @throws INVALID_ARGUMENT that names all missing members. */
function required<T extends Record<string, unknown>>(
  members: T,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  rejectViolations(
    Object.entries(members)
      .filter(([, value]) => value === undefined)
      .map(([field]) => ({ field, description: message("FIELD_MISSING", { field }) })),
  );
  return members as { [K in keyof T]: Exclude<T[K], undefined> };
}
