import type { JsonObject } from "@bufbuild/protobuf";
import { expect, vi } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite, type WholeSite } from "../mounts/whole-site.ts";
import { type As, as } from "./access-client.ts";
import { startService, type TestService } from "./service.ts";

/** Options of a service that follows sites without long pauses. */
export const FOLLOWING = {
  env: { MOORING_SECRET_KEY: "ab".repeat(32) },
  siteTimes: { tick: 30, read: 60, reread: 60 },
  mountTimes: { tick: 30, read: 60, reread: 60 },
};

/** The password of the mount `cloud`. */
export const SECRET = "pikpak-password-5f3a";

/** A service that these sites follow, by their names. */
export async function startFollowed(
  followers: Readonly<Record<string, WholeSite>>,
  options: Parameters<typeof startService>[0] = FOLLOWING,
): Promise<TestService> {
  const service = await startService(options);
  const { sites } = as(service.port);
  for (const [name, { url, token }] of Object.entries(followers)) {
    await sites.createSite({ site: { name, url, token: token() } });
    await sites.syncSite({ name });
    await sites.updateSite({ name, site: { mode: SiteMode.FOLLOW } });
  }
  return service;
}

/** Creates sites that are only compared: nothing is written to them. Their servers end with it. */
export async function observe(
  { sites }: Pick<As, "sites">,
  ...names: readonly string[]
): Promise<{ stop(): Promise<void> }> {
  const servers = await Promise.all(names.map(() => startWholeSite()));
  for (const [at, { url, token }] of servers.entries())
    await sites.createSite({ site: { name: names[at] ?? "", url, token: token() } });
  return {
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/** Saves the mount `cloud`, which has a secret, for the site `one`, and waits until it is there. */
export async function saveCloud({ mounts }: As, one: WholeSite): Promise<void> {
  await mounts.saveMounts({ mounts: [dav("cloud", SECRET, { sites: { names: ["one"] } })] });
  // Also in hooks, where expect.poll is not available.
  await vi.waitFor(() => expect(rowOf(one, "/cloud")?.status).toBe("work"), 60_000);
}

/** A mount of the driver Local at the path of its name. */
export function local(name: string, root: string, more: JsonObject = {}) {
  return {
    name,
    mountPath: `/${name}`,
    driver: "Local",
    config: { root_folder_path: root },
    sites: { all: true },
    ...more,
  };
}

/** A mount of the driver WebDav, which has a secret, at the path of its name. */
export function dav(name: string, password: string, more: JsonObject = {}) {
  return {
    name,
    mountPath: `/${name}`,
    driver: "WebDav",
    config: { address: "https://dav.example", username: "ann", password },
    ...more,
  };
}

export function rowOf(site: WholeSite, path: string) {
  return site.storages.row(path);
}

/** The state of a mount on its first site. */
export async function stateOf({ mounts }: As, name: string): Promise<string | undefined> {
  return (await mounts.getMount({ name })).mount?.status[0]?.state;
}
