import type { Aria2Client } from "../downloaders/aria2.ts";
import type { QbittorrentClient } from "../downloaders/qbittorrent.ts";
import { invalid, type Violation } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Changed, ChangeOrigin } from "./writer.ts";

/** Checks download managers before their settings are stored. */
export interface Downloaders {
  readonly aria2: Aria2Client;
  readonly qbittorrent: QbittorrentClient;
}

/** Settings of download managers. */
export interface DownloaderService {
  /** Connects first, then stores. @throws the errors of src/downloaders/aria2.ts. */
  setAria2(
    input: { readonly uri: string | undefined; readonly secret: string | undefined },
    origin: ChangeOrigin,
    signal: AbortSignal,
  ): Promise<{ version: string; revision: number }>;
  /** Connects first, then stores. @throws the errors of src/downloaders/qbittorrent.ts. */
  setQbittorrent(
    input: { readonly url: string | undefined; readonly seedtime: number | undefined },
    origin: ChangeOrigin,
    signal: AbortSignal,
  ): Promise<{ version: string; revision: number }>;
}

/** @param set stores known settings for a client, as a save would. */
export function createDownloaderService(
  { aria2, qbittorrent }: Downloaders,
  set: (origin: ChangeOrigin, values: Record<string, string>) => Promise<Changed<void>>,
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
