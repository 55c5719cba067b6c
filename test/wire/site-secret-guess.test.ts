import { expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService } from "./service.ts";

const site = startedForAll(startWholeSite);
const service = startedForAll(() => startService());
const admin = startedForAll(() => as(service.port));

test("without settings:reveal nothing shows whether a saved secret is that of a site", async () => {
  await admin.sites.createSite({ site: { name: "one", url: site.url, token: site.token() } });
  await admin.settings.saveSettings({
    settings: [{ key: "aria2_secret", value: "the-right-one" }],
  });
  await admin.sites.syncSite({ name: "one", keys: ["aria2_secret"] });
  const { text } = await give(admin, ["settings:write", "sites:manage"]);
  const { settings, sites } = as(service.port, text);
  const shown: unknown[] = [];
  for (const value of ["a-wrong-one", "the-right-one"]) {
    await settings.saveSettings({ settings: [{ key: "aria2_secret", value }] });
    const { differences } = await sites.compareSite({ name: "one", all: true });
    const { results } = await sites.adoptSite({ name: "one", dryRun: true });
    const { site: view } = await sites.checkSite({ name: "one" });
    const { sites: listed } = await sites.listSites({});
    shown.push([
      differences.map(({ key, standing }) => [key, standing]),
      results.map(({ key, outcome }) => [key, outcome]),
      [view?.status?.state, view?.status?.drift, listed[0]?.status?.drift],
    ]);
  }
  expect(shown[1]).toEqual(shown[0]);
  expect(JSON.stringify(shown[0])).toContain('["aria2_secret","skipped"]');
  // A caller who may read it is told.
  await admin.settings.saveSettings({ settings: [{ key: "aria2_secret", value: "a-wrong-one" }] });
  const { differences } = await admin.sites.compareSite({ name: "one" });
  expect(differences.map(({ key }) => key)).toContain("aria2_secret");
});
