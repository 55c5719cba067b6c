import type { JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { expect, vi } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { startWholeSite, type WholeSite } from "../mounts/whole-site.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

/** Options of a service that follows sites without long pauses. */
export const FOLLOWING = {
  env: { MOORING_SECRET_KEY: "ab".repeat(32) },
  siteTimes: { beat: 30, look: 60 },
  mountTimes: { beat: 30, look: 60 },
};

/** The password of the mount `cloud`. */
export const SECRET = "pikpak-password-5f3a";

/** A service with two sites that follow it, `one` and `two`. */
export interface TwoSites {
  readonly service: TestService;
  readonly one: WholeSite;
  readonly two: WholeSite;
  /** Clients with a token; default: the admin's. */
  transport(token?: string): ReturnType<typeof createConnectTransport>;
  mounts(token?: string): ReturnType<typeof createClient<typeof MountService>>;
  settings(token?: string): ReturnType<typeof createClient<typeof SettingService>>;
  sites(): ReturnType<typeof createClient<typeof SiteService>>;
  /**
   * Saves the mount `cloud`, which has a secret, for the site `one`, and waits until it is there.
   */
  saveCloud(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTwoSites(): Promise<TwoSites> {
  const [one, two] = await Promise.all([startWholeSite(), startWholeSite()]);
  const service = await startService(FOLLOWING);
  const transport: TwoSites["transport"] = (token = TOKEN) =>
    createConnectTransport({
      ...{ baseUrl: `http://127.0.0.1:${service.port}`, httpVersion: "1.1" },
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", token);
          return next(request);
        },
      ],
    });
  const sites = () => createClient(SiteService, transport());
  const mounts = (token?: string) => createClient(MountService, transport(token));
  for (const [name, { url, token }] of Object.entries({ one, two })) {
    await sites().createSite({ site: { name, url, token: token() } });
    await sites().syncSite({ name });
    await sites().updateSite({ name, site: { mode: SiteMode.FOLLOW } });
  }
  return {
    ...{ service, one, two, transport, mounts, sites },
    settings: (token) => createClient(SettingService, transport(token)),
    saveCloud: async () => {
      await mounts().saveMounts({
        mounts: [
          {
            ...{ name: "cloud", mountPath: "/cloud", driver: "WebDav", sites: { names: ["one"] } },
            config: { address: "https://dav.example", username: "ann", password: SECRET },
          },
        ],
      });
      // Also in hooks, where expect.poll is not available.
      await vi.waitFor(() => expect(rowOf(one, "/cloud")?.status).toBe("work"), 60_000);
    },
    stop: async () => {
      await service.stop();
      await Promise.all([one.stop(), two.stop()]);
    },
  };
}

/** A mount of the driver Local at the path of its name. */
export function local(name: string, root: string, more: JsonObject = {}) {
  return {
    ...{ name, mountPath: `/${name}`, driver: "Local", config: { root_folder_path: root } },
    ...more,
  };
}

export function rowOf(site: WholeSite, path: string) {
  return site.storages.row(path);
}
