import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { local } from "./following.ts";
import { startService } from "./service.ts";

const service = startedForAll(startService);
const home = startedForAll(startStandIn);
const pier = startedForAll(startStandIn);

test("the history of a site has the changes of its mounts and rules, before and after them", async () => {
  const { sites, mounts, rules, settings } = as(service.port);
  for (const [name, site] of Object.entries({ home, pier }))
    await sites.createSite({ site: { name, url: site.url, token: site.token() } });
  const mount = (name: string, names: readonly string[]) =>
    local(name, "/srv", { sites: { names: [...names] } });
  const revisionsOf = async (query: { site: string; key?: string }) =>
    (await settings.listRevisions(query)).revisions.map(({ revision }) => revision).reverse();
  const made = await mounts.saveMounts({ mounts: [mount("films", ["home"])] });
  const elsewhere = await mounts.saveMounts({ mounts: [mount("music", ["pier"])] });
  await settings.saveSettings({ settings: [{ key: "site_title", value: "Not of a site" }] });
  const rule = await rules.saveRules({
    rules: [{ path: "/all", hide: "a", sites: { all: true } }],
  });
  const moved = await mounts.saveMounts({
    mounts: [{ name: "films", sites: { names: ["pier"] } }],
  });
  const gone = await mounts.deleteMounts({ names: ["films"] });
  expect(await revisionsOf({ site: "home" })).toEqual(
    [made, rule, moved].map(({ revision }) => revision),
  );
  expect(await revisionsOf({ site: "pier" })).toEqual(
    [elsewhere, rule, moved, gone].map(({ revision }) => revision),
  );
  expect(await revisionsOf({ site: "pier", key: "mount:films" })).toEqual(
    [moved, gone].map(({ revision }) => revision),
  );
  await expect(settings.listRevisions({ site: "hoem" })).rejects.toMatchObject({
    code: Code.NotFound,
    rawMessage: expect.stringContaining("home"),
  });
});
