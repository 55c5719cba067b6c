import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeAll, expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { addSite, service, useService } from "./service.ts";

useService();

const site = startedForAll(() => startStandIn());

beforeAll(async () => {
  await addSite("home", site);
  await writeFile(join(service.folder, "password"), "pass-word-7\n");
});

const cli = (...args: string[]) => service.cli(["rule", ...args]);
const there = (path: string) => site.rules.at(path);

test("a rule is created with its password from a file, shown without it, and brought to a site", async () => {
  const file = `password=@${join(service.folder, "password")}`;
  const created = await cli("create", "/films/", file, "p_sub=true", "hide=^\\.", "sites=home");
  expect(created).toMatchObject({ code: 0, out: "/films: created\n" });
  const shown = await cli("get", "/films");
  expect(shown.out).toContain("********");
  expect(shown.out).toMatch(/^hide +\^\\\./m);
  expect(shown.out).not.toContain("pass-word-7");
  expect((await cli("get", "/films", "--reveal")).out).toContain("pass-word-7");
  expect((await cli("list")).out).toMatch(/\/films +password; hide +home +home: differs/);
  expect((await cli("compare", "home")).out).toBe("/films: created\n");
  expect(await cli("sync", "home", "--yes")).toMatchObject({ code: 0, out: "/films: ok\n" });
  expect(there("/films")).toMatchObject({ password: "pass-word-7", p_sub: true, hide: "^\\." });
});

test("a member that a rule does not have is refused with the nearest one", async () => {
  expect(await cli("set", "/films", "passwort=x")).toMatchObject({ code: 2 });
  const flag = await cli("set", "/films", "p_sub=maybe");
  expect(flag).toMatchObject({ code: 2 });
  expect(flag.err).toContain("p_sub must be true or false");
  expect((await cli("set", "/films", "passwort=x")).err).toContain("did you mean password");
  expect((await cli("set", "/films", "write=maybe")).code).toBe(2);
  expect((await cli("get", "/filme")).err).toContain("/films");
});

test("values of one site are set and removed, users are names with commas", async () => {
  site.users.add({ username: "zoe" });
  await cli("set", "/films", "readme@home=here", "read_users@home=zoe, admin");
  await cli("sync", "home", "--yes");
  expect(there("/films")).toMatchObject({ readme: "here", read_users: [3, 1] });
  await cli("set", "/films", "readme@home", "read_users@home");
  await cli("sync", "home", "--yes");
  expect(there("/films")).toMatchObject({ readme: "", read_users: [] });
});

test("a change that opens a folder of a running server needs --yes without a terminal", async () => {
  await service.cli(["site", "sync", "home", "--yes"]);
  await service.cli(["site", "set", "home", "mode=follow", "--yes"]);
  const refused = await cli("set", "/films", "password=");
  expect(refused.code).toBe(4);
  expect(refused.err).toContain("1 folder of running servers would be opened");
  expect(refused.err).toContain("on home, /films opens");
  expect(there("/films")?.password).toBe("pass-word-7");
  const deleted = await cli("delete", "/films");
  expect(deleted.code).toBe(4);
  expect(deleted.err).toContain("on home, the rule of /films is removed");
  const dry = await cli("delete", "/films", "--dry-run");
  expect(dry).toMatchObject({ code: 0 });
  expect(there("/films")).toBeDefined();
});

test("a new rule that hides the password above it needs --yes, and so does the end of one", async () => {
  for (const command of [
    ["create", "/films/sub", "readme=x", "sites=home"],
    ["create", "/films/sub", "password=x", "sites=home"],
  ]) {
    const refused = await cli(...command);
    expect(refused.code).toBe(4);
    expect(refused.err).toContain("on home, /films/sub opens");
    expect((await cli(...command, "--dry-run")).out).toContain("on home, /films/sub opens");
  }
  expect(there("/films/sub")).toBeUndefined();
  const closed = await cli("create", "/films/sub", "password=x", "p_sub=true", "sites=home");
  expect(closed).toMatchObject({ code: 0 });
  await expect.poll(() => there("/films/sub")).toBeDefined();
  const moved = await cli("move", "/films/sub", "/elsewhere");
  expect(moved.code).toBe(4);
  expect(moved.err).toContain("on home, the rule of /films/sub is removed");
  expect(moved.err).not.toContain("opens");
  expect(await cli("delete", "/films/sub", "--yes")).toMatchObject({ code: 0 });
  await expect.poll(() => there("/films/sub")).toBeUndefined();
});

test("rules of a server are adopted, and one with an unknown user is not synced", async () => {
  site.rules.put({ path: "/own", readme: "text" });
  const adopted = await cli("adopt", "home", "--yes");
  expect(adopted).toMatchObject({ code: 0, out: "/own: created\n" });
  await cli("create", "/secret", "read_users=nobody", "sites=home");
  const synced = await cli("sync", "home", "/secret", "--yes");
  expect(synced.code).toBe(4);
  expect(synced.out).toContain("the site has no user nobody");
  expect(synced.err).toContain("mooring rule set /secret read_users@home=NAMES");
  expect(there("/secret")).toBeUndefined();
  expect((await service.cli(["site", "list"])).out).toContain("rules: 1 failing");
  expect((await service.cli(["site", "log", "home"])).out).toContain("rule:/films");
});

test("a rule is moved and deleted here and there", async () => {
  expect(await cli("move", "/own", "/other", "--yes")).toMatchObject({ code: 0 });
  await expect.poll(() => there("/other")?.readme).toBe("text");
  await expect.poll(() => there("/own")).toBeUndefined();
  expect(await cli("delete", "/other", "/films", "/secret", "--yes")).toMatchObject({ code: 0 });
  await expect.poll(() => site.rules.rows.size).toBe(0);
});

test("delete takes patterns, and shows what they match", async () => {
  for (const path of ["/old/a", "/old/b", "/kept"])
    await cli("create", path, "hide=x", "sites=none");
  expect(await cli("delete", "/nothing/*", "--yes")).toMatchObject({
    code: 3,
    err: expect.stringContaining('no rule matches "/nothing/*"'),
  });
  const dry = await cli("delete", "/old/*", "--dry-run");
  expect(dry).toMatchObject({ code: 0, out: "/old/a: deleted\n/old/b: deleted\n" });
  expect(dry.err).toContain("the patterns match: /old/a, /old/b");
  const refused = await cli("delete", "/old/*");
  expect(refused).toMatchObject({
    code: 4,
    err: expect.stringContaining("/old/a, /old/b would be"),
  });
  expect((await cli("delete", "/old/*", "--yes")).code).toBe(0);
  expect((await cli("list")).out).toMatch(/^\/kept /m);
  expect((await cli("list")).out).not.toContain("/old/");
});

test.each([
  [["rule", "create", "/two"], "hide@home", "readme@home"],
  [
    ["mount", "create", "two", "/two", "Local", "root_folder_path=/srv"],
    "order@home",
    "remark@home",
  ],
])(
  "a change of values for a site does not undo one that another client has just made: %j",
  async (made, ours, theirs) => {
    expect((await service.cli(made)).code).toBe(0);
    const [noun = "", , name = ""] = made;
    const set = (member: string, stdin?: Readable) =>
      service.cli([noun, "set", name, member, "--yes"], stdin && { world: { stdin } });
    // The command reads its value after the record.
    const late = Readable.from(
      (async function* () {
        await set(`${theirs}=7`);
        yield "7";
      })(),
    );
    const refused = await set(`${ours}=@-`, late);
    expect(refused).toMatchObject({ code: 7, err: expect.stringContaining(name) });
    expect((await service.cli([noun, "get", name])).out).toMatch(new RegExp(`${theirs} +7`));
  },
);
