import { beforeAll, expect, test } from "vitest";
import { SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { startedForAll } from "../../started.ts";
import { type As, as } from "../../wire/access-client.ts";
import { FOLLOWING } from "../../wire/following.ts";
import { startService } from "../../wire/service.ts";
import { startOpenList } from "../mounts/open-list.ts";

const site = startedForAll(startOpenList, 600_000);
const service = startedForAll(() => startService(FOLLOWING));
let admin: As;

beforeAll(async () => {
  admin = as(service.port);
  const { url, token } = site;
  await admin.sites.createSite({ site: { name: "home", url, token } });
  await admin.sites.syncSite({ name: "home" });
  await admin.sites.updateSite({ name: "home", site: { mode: SiteMode.FOLLOW } });
});

type Row = Readonly<Record<string, unknown>>;

async function there(path: string): Promise<Row | undefined> {
  const { content } = (await site.call("GET", "/api/admin/meta/list")) as {
    readonly content: readonly Row[] | null;
  };
  return content?.find((row) => row["path"] === path);
}

const save = (path: string, values: object) =>
  admin.rules.saveRules({ rules: [{ path, ...values }] });
const stateOf = async (path: string) =>
  (await admin.rules.getRule({ path })).rule?.status[0]?.state;
const list = (...names: readonly string[]) => ({
  values: names.map((value) => ({ kind: { case: "stringValue" as const, value } })),
});
const becomes = async (path: string, row: Row): Promise<void> => {
  await expect.poll(() => there(path)).toMatchObject(row);
  await expect.poll(() => stateOf(path)).toBe("ok");
};

test("a rule is created, changed and deleted on the server, and works", async () => {
  await save("/films", {
    password: "pass-word-1",
    pSub: true,
    hide: "^\\.\n(?<=a)b",
    readme: "# Films",
    header: "head",
  });
  await becomes("/films", { password: "pass-word-1", p_sub: true, hide: "^\\.\n(?<=a)b" });
  await save("/films", { password: "", header: "other" });
  await becomes("/films", { password: "", p_sub: true, header: "other", readme: "# Films" });
  await admin.rules.moveRule({ path: "/films", newPath: "/kino" });
  await becomes("/kino", { header: "other" });
  await admin.rules.deleteRules({ paths: ["/kino"] });
  await expect.poll(() => there("/kino")).toBeUndefined();
  expect(await there("/films")).toBeUndefined();
});

test("a change on the server's own page is corrected", async () => {
  await save("/drift", { readme: "ours", password: "p" });
  await becomes("/drift", { readme: "ours" });
  const row = await there("/drift");
  // A partial update of a small tool: everything else becomes empty.
  await site.call("POST", "/api/admin/meta/update", { id: row?.["id"], path: "/drift" });
  await becomes("/drift", { readme: "ours", password: "p" });
  await site.call("POST", `/api/admin/meta/delete?id=${(await there("/drift"))?.["id"]}`);
  await becomes("/drift", { readme: "ours", password: "p" });
});

test("users are named here and numbered there; an unknown one keeps the rule back", async () => {
  await save("/private", { readUsers: list("zoe"), readUsersSub: true });
  await expect.poll(() => stateOf("/private")).toBe("failing");
  expect(await there("/private")).toBeUndefined();
  await site.call("POST", "/api/admin/user/create", {
    username: "zoe",
    password: "zoe-password",
    base_path: "/",
    role: 0,
    permission: 0,
  });
  const { content } = (await site.call("GET", "/api/admin/user/list")) as {
    readonly content: readonly { readonly id: number; readonly username: string }[];
  };
  const id = content.find(({ username }) => username === "zoe")?.id;
  await becomes("/private", { read_users: [id], read_users_sub: true, write_users: [] });
  await save("/private", { readUsers: list() });
  await becomes("/private", { read_users: [] });
});

test("a line of hide that the server refuses stays here with the server's words", async () => {
  await save("/fine", { hide: "^a$" });
  await becomes("/fine", { hide: "^a$" });
  await expect(save("/bad", { hide: "(" })).rejects.toThrow();
});

test("rules that the server had are adopted and compare equal", async () => {
  await site.call("POST", "/api/admin/meta/create", {
    path: "own/../theirs/",
    password: "their-password",
    hide: "x\ny",
    read_users: [1],
    write: true,
  });
  const { results } = await admin.rules.adoptRules({ site: "home" });
  expect(results).toMatchObject([{ path: "/theirs", outcome: "created" }]);
  const { rule } = await admin.rules.getRule({ path: "/theirs", reveal: true });
  expect(rule).toMatchObject({ password: "their-password", hide: "x\ny", readUsers: ["admin"] });
  const compared = await admin.rules.compareRules({ site: "home" });
  expect(compared.results.map(({ outcome }) => outcome)).toEqual(
    compared.results.map(() => "unchanged"),
  );
});
