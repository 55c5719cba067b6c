import { expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { startFollowed } from "./following.ts";

const one = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one }));
const admin = startedForAll(() => as(service.port));

test("a save names the sites that do not have the driver, also as a dry run", async () => {
  const { site } = await admin.sites.getSite({ name: "one" });
  expect(site?.status?.kind).toBe("openlist");
  const mounts = [
    {
      name: "share",
      mountPath: "/share",
      driver: "BaiduShare",
      config: { surl: "abc", pwd: "a1b2" },
    },
  ];
  for (const dryRun of [true, false]) {
    const { results } = await admin.mounts.saveMounts({ mounts, dryRun });
    expect(results[0]?.note).toContain("the site one (openlist) has no driver BaiduShare");
  }
});
