import type { Ledger } from "../../ledger/ledger.ts";
import { ownValue } from "../../own-value.ts";
import { SETTINGS } from "../../settings/kind.ts";
import { onSite } from "../on-site.ts";
import type { SiteRegistry } from "../registry.ts";
import type { SettingSync } from "../settings/sync.ts";
import type { Site } from "../site.ts";
import type { SiteKeys } from "../site-keys.ts";
import type { SiteService } from "../site-service.ts";

export interface SyncDeps {
  readonly registry: Pick<SiteRegistry, "byName">;
  readonly settings: Pick<SettingSync, "round" | "exclusive">;
  readonly ledger: Pick<Ledger, "snapshot">;
}

export function syncSite(siteKeys: SiteKeys, deps: SyncDeps): SiteService["sync"] {
  return async (name, { keys, dryRun, connectDownloaders, signal }, actor) => {
    const site = deps.registry.byName(name);
    const asked = keys.length === 0 ? undefined : siteKeys.check(site, keys);
    const { revision } = deps.ledger.snapshot();
    const aim = dryRun ? "read" : "push";
    const options = { aim, actor, force: !dryRun, signal, keys: asked } as const;
    const round = await onSite(deps.settings.round(site, options), signal);
    const chosen = asked && new Set(asked);
    const isAsked = (key: string): boolean => chosen?.has(key) ?? true;
    const connected =
      connectDownloaders && !dryRun ? await onSite(connect(deps, site, signal), signal) : [];
    return {
      revision,
      results: round.results,
      comparisons: round.comparisons.filter(({ key }) => isAsked(key)),
      connected,
    };
  };
}

/** Makes the site connect its download managers with Mooring's values. */
async function connect(
  { settings, ledger }: SyncDeps,
  site: Site,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const value = (key: string): string =>
    ownValue(site.overrides, key) ?? ledger.snapshot().get(SETTINGS, key)?.value ?? "";
  const managers = [
    ["set_aria2", "aria2_uri", { uri: value("aria2_uri"), secret: value("aria2_secret") }],
    [
      "set_qbit",
      "qbittorrent_url",
      { url: value("qbittorrent_url"), seedtime: value("qbittorrent_seedtime") },
    ],
    [
      "set_transmission",
      "transmission_uri",
      { uri: value("transmission_uri"), seedtime: value("transmission_seedtime") },
    ],
  ] as const;
  const connected: string[] = [];
  for (const [call, key, body] of managers) {
    if (value(key) === "") continue;
    const secrets = Object.values(body);
    await settings.exclusive(site.id, ({ client }) => {
      signal?.throwIfAborted();
      return client.call("POST", `/api/admin/setting/${call}`, body, { secrets, limit: 60_000 });
    });
    connected.push(call.slice("set_".length));
  }
  return connected;
}
