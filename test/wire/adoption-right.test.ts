import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService } from "./service.ts";

const service = startedForAll(startService);
const home = startedForAll(startStandIn);

test.each([
  ["settings", ["sites:manage", "settings:write", "settings:reveal"]],
  ["mounts", ["mounts:write", "mounts:reveal"]],
  ["rules", ["rules:write", "rules:reveal"]],
] as const)("an adoption of %s ends with the token of its caller", async (kind, scopes) => {
  const root = as(service.port);
  const { sites } = await root.sites.listSites({});
  if (sites.length === 0)
    await root.sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
  const { text, id } = await give(root, scopes);
  const before = (await root.settings.listRevisions({})).revisions[0]?.revision;
  const { promise: until, resolve: release } = Promise.withResolvers<void>();
  home.mode = { kind: "held", until };
  const calls = home.seen.length;
  const by = as(service.port, text);
  const adoption = {
    settings: () => by.sites.adoptSite({ name: "home" }),
    mounts: () => by.mounts.adoptMounts({ site: "home" }),
    rules: () => by.rules.adoptRules({ site: "home" }),
  }[kind]();
  const refused = expect(adoption).rejects.toMatchObject({ code: Code.Unauthenticated });
  await expect.poll(() => home.seen.length).toBeGreaterThan(calls);
  await root.access.revokeToken({ id });
  home.mode = undefined;
  release();
  await refused;
  expect((await root.settings.listRevisions({})).revisions[0]?.revision).toBe(before);
});
