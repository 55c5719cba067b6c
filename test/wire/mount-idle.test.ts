import { expect, onTestFinished, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { as } from "./access-client.ts";
import { local, startFollowed } from "./following.ts";

test("a commit of mounts causes no comparison of settings on sites, and a later one of settings does", async () => {
  const site = await startWholeSite();
  const service = await startFollowed(
    { harbour: site },
    { siteTimes: { tick: 30 }, mountTimes: { tick: 30 } },
  );
  onTestFinished(async () => {
    await service.stop();
    await site.stop();
  });
  const { settings, sites, mounts } = as(service.port);
  const applied = async () => (await sites.getSite({ name: "harbour" })).site?.status;
  const isAt = (revision: bigint) =>
    expect.poll(async () => (await applied())?.appliedRevision).toBe(revision);
  const title = (value: string) =>
    settings.saveSettings({ settings: [{ key: "site_title", value }] });
  await isAt((await title("Before")).revision);
  const lists = () => site.settings.count("GET /api/admin/setting/list");
  const before = lists();
  const { revision } = await mounts.saveMounts({ mounts: [local("films", "/srv")] });
  await expect.poll(() => site.storages.row("/films")?.status).toBe("work");
  await isAt(revision);
  await expect.poll(async () => (await applied())?.state).toBe("ok");
  expect(lists()).toBe(before);
  await isAt((await title("After")).revision);
  expect(lists()).toBeGreaterThan(before);
});
