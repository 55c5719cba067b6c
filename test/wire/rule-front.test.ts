import { beforeAll, expect, test, vi } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { callPage, startInFrontOf } from "./upstream.ts";

const site = startedForAll(startWholeSite);
const service = startedForAll(async () => {
  site.settings.rules.put({ path: "/old", password: "old-password" });
  return startInFrontOf(site);
});
const admin = startedForAll(() => as(service.port));

beforeAll(async () => {
  await vi.waitFor(
    async () =>
      expect((await admin.rules.compareRules({ site: "upstream" })).results).toHaveLength(1),
    { timeout: 60_000 },
  );
});

/** The server's permanent token is an admin of it. */
const through = (call: string, body: object | string) =>
  callPage(`http://127.0.0.1:${service.port}`, `meta/${call}`, body, site.token());

const paths = async () => (await admin.rules.listRules({})).rules.map(({ path }) => path);

test("changes on the server's own pages are only the server's until its rules were adopted", async () => {
  expect(await through("create", { path: "/first" })).toMatchObject({ code: 200 });
  expect(site.settings.rules.at("/first")).toBeDefined();
  expect(await paths()).toEqual([]);
  await admin.rules.adoptRules({ site: "upstream" });
  expect(await paths()).toEqual(["/first", "/old"]);
});

test("afterwards each of them is a revision with the admin's name, and is not reverted", async () => {
  await through("create", { path: "/second/", password: "second-password" });
  await expect.poll(paths).toEqual(["/first", "/old", "/second"]);
  const row = site.settings.rules.at("/second");
  await through("update", { ...row, hide: "^\\." });
  const rule = async () => (await admin.rules.getRule({ path: "/second", reveal: true })).rule;
  await expect.poll(rule).toMatchObject({ hide: "^\\.", password: "second-password" });
  expect(await through("delete", String(row?.id))).toMatchObject({ code: 200 });
  await expect.poll(paths).toEqual(["/first", "/old"]);
  expect(site.settings.rules.at("/second")).toBeUndefined();
  const { revisions } = await admin.settings.listRevisions({ pageSize: 3 });
  expect(revisions.map(({ reason, keys }) => `${reason}: ${keys}`)).toEqual([
    "delete of folder rules at the upstream: rule:/second",
    "update of folder rules at the upstream: rule:/second",
    "create of folder rules at the upstream: rule:/second",
  ]);
  expect(new Set(revisions.map(({ actor }) => actor)).size).toBe(1);
  expect(revisions[0]?.actor).toMatch(/^upstream:/);
});

test("a refused change changes nothing", async () => {
  const before = (await admin.rules.listRules({})).revision;
  expect((await through("create", { path: "/old" })).code).toBe(500);
  expect((await through("create", { path: "/bad", hide: "(" })).code).toBe(400);
  expect((await admin.rules.listRules({})).revision).toBe(before);
  expect(await paths()).toEqual(["/first", "/old"]);
});

test("a change by Mooring reaches the server, and is not counted as a change there", async () => {
  const before = (await admin.rules.listRules({})).revision;
  await admin.rules.saveRules({ rules: [{ path: "/first", readme: "ours" }] });
  await expect.poll(() => site.settings.rules.at("/first")?.readme).toBe("ours");
  await expect
    .poll(async () => (await admin.rules.getRule({ path: "/first" })).rule?.status[0]?.state)
    .toBe("ok");
  expect((await admin.rules.listRules({})).revision).toBe(before + 1n);
});
