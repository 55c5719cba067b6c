import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { as } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";

test("a commit of mounts causes no comparison of settings on sites, and a later one of settings does", async () => {
  const site = await startWholeSite();
  const service = await startService({ siteTimes: { beat: 30 }, mountTimes: { beat: 30 } });
  try {
    const { settings, sites } = as(service.port);
    const baseUrl = `http://127.0.0.1:${service.port}`;
    const mounts = createClient(MountService, createGrpcTransport({ baseUrl }));
    const headers = { authorization: TOKEN };
    await sites.createSite({ site: { name: "harbour", url: site.url, token: site.token() } });
    await sites.syncSite({ name: "harbour" });
    await sites.updateSite({ name: "harbour", site: { mode: SiteMode.FOLLOW } });
    const applied = async () => (await sites.getSite({ name: "harbour" })).site?.status;
    const isAt = (revision: bigint) =>
      expect.poll(async () => (await applied())?.appliedRevision).toBe(revision);
    const title = (value: string) =>
      settings.saveSettings({ settings: [{ key: "site_title", value }] });
    await isAt((await title("Before")).revision);
    const lists = () => site.settings.count("GET /api/admin/setting/list");
    const before = lists();
    const mount = { name: "films", mountPath: "/films", driver: "Local" };
    const { revision } = await mounts.saveMounts(
      { mounts: [{ ...mount, config: { root_folder_path: "/srv" } }] },
      { headers },
    );
    await expect.poll(() => site.storages.row("/films")?.status).toBe("work");
    await isAt(revision);
    expect((await applied())?.health).toBe("ok");
    expect(lists()).toBe(before);
    await isAt((await title("After")).revision);
    expect(lists()).toBeGreaterThan(before);
  } finally {
    await service.stop();
    await site.stop();
  }
});
