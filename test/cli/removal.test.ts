import { beforeAll, expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { addSite, cli, useService } from "./service.ts";

useService();
const home = startedForAll(() => startStandIn());

const CREATE: readonly (readonly string[])[] = [
  ["set", "--new", "my_key=mine"],
  ["mount", "create", "films", "/films", "Local", "root_folder_path=/srv", "sites=none"],
  ["principal", "create", "anna"],
  ["webhook", "add", "chat", "--url-file", "-"],
];

beforeAll(async () => {
  for (const args of CREATE)
    expect(await cli(args, { stdin: "https://hook.example/x\n" })).toMatchObject({ code: 0 });
});

const REMOVALS: readonly (readonly [args: readonly string[], show: readonly string[]])[] = [
  [
    ["unset", "my_key"],
    ["get", "my_key"],
  ],
  [
    ["site", "remove", "home"],
    ["site", "list"],
  ],
  [
    ["mount", "delete", "films"],
    ["mount", "list"],
  ],
  [
    ["webhook", "remove", "chat"],
    ["webhook", "list"],
  ],
  [
    ["principal", "disable", "anna"],
    ["principal", "list"],
  ],
  [
    ["token", "reset"],
    ["token", "show"],
  ],
  [
    ["token", "set"],
    ["token", "show"],
  ],
];

test.each(REMOVALS)(
  "%j without a terminal changes nothing unless --yes is given",
  async (args, show) => {
    await addSite("home", home);
    const before = await cli(show);
    const ended = await cli(args, { stdin: "another-token-of-32-characters-000000\n" });
    expect(ended).toMatchObject({
      code: 4,
      out: "",
      err: expect.stringMatching(/nothing was changed.*--yes/),
    });
    expect(await cli(show)).toEqual(before);
    if (args[0] === "token") return;
    expect(await cli([...args, "--yes"])).toMatchObject({ code: 0 });
    expect(await cli(show)).not.toEqual(before);
  },
);

test("a token is not revoked without a terminal unless --yes is given", async () => {
  const made = await cli(["token", "create", "bob", "--scopes", "settings:read"]);
  const id = made.out.split("_")[1] ?? "";
  const env = { MOORING_TOKEN: made.out.trim() };
  expect(await cli(["token", "revoke", id])).toMatchObject({ code: 4 });
  expect(await cli(["get", "site_title"], { env })).toMatchObject({ code: 0 });
  expect(await cli(["token", "revoke", id, "--yes"])).toMatchObject({ code: 0 });
  expect(await cli(["get", "site_title"], { env })).toMatchObject({ code: 5 });
});

test("the restore of a known setting is no removal", async () => {
  await cli(["set", "site_title=x"]);
  expect(await cli(["unset", "site_title"])).toMatchObject({ code: 0 });
});

test("a restore of mounts that deletes one needs --yes", async () => {
  const { out } = await cli(["mount", "list", "--json"]);
  const { revision = "0" } = JSON.parse((await cli(["list", "--json"])).out);
  expect(out).not.toContain("later");
  await cli(["mount", "create", "later", "/later", "Local", "root_folder_path=/x", "sites=none"]);
  expect(await cli(["rollback", String(revision), "later"])).toMatchObject({
    code: 4,
    err: expect.stringContaining("mount:later would be deleted; --yes confirms it"),
  });
  expect((await cli(["mount", "list"])).out).toContain("later");
});
