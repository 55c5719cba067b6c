import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, service, useService } from "./service.ts";

useService();

test("a token is created, used, listed, rotated and revoked", async () => {
  const made = await cli([
    "token",
    "create",
    "backup",
    "--scopes",
    "settings:read,backup:export",
    "--limits",
    "key:site_*",
    "--expires",
    "30d",
    "--comment",
    "nightly",
  ]);
  expect(made).toMatchObject({ code: 0, err: expect.stringContaining("of backup, until ") });
  const token = made.out.trim();
  expect(token).toMatch(/^mrg_\w{62}$/);
  const id = token.slice(4, 16);
  const env = { MOORING_TOKEN: token };
  expect(await cli(["get", "site_title"], { env })).toMatchObject({ code: 0, out: "OpenList\n" });
  const other = await cli(["get", "default_page_size"], { env });
  expect(other).toMatchObject({ code: 5, err: expect.stringContaining("limited to key:site_*") });
  const saved = await cli(["set", "site_title=x"], { env });
  expect(saved).toMatchObject({
    code: 5,
    err: expect.stringContaining("not have the scope settings:write"),
  });
  expect((await cli(["whoami"], { env })).out).toMatch(
    new RegExp(`principal +backup\\ntoken +${id}\\nscopes +backup:export, settings:read\\n`),
  );
  const listed = await cli(["token", "list"]);
  expect(listed.out).toMatch(new RegExp(`${id} +backup +settings:read,backup:export +key:site_`));
  expect(listed.out).not.toContain(token);

  const rotated = await cli(["token", "rotate", id, "--overlap", "0", "--output", "next"]);
  expect(rotated).toMatchObject({ code: 0, out: "" });
  expect((await stat(join(service.folder, "next"))).mode & 0o777).toBe(0o600);
  const next = (await readFile(join(service.folder, "next"), "utf8")).trim();
  expect((await cli(["get", "site_title"], { env })).code).toBe(5);
  const nextEnv = { MOORING_TOKEN: next };
  expect((await cli(["get", "site_title"], { env: nextEnv })).code).toBe(0);
  const revoked = await cli(["token", "revoke", next.slice(4, 16), "--yes"]);
  expect(revoked).toMatchObject({ code: 0, out: expect.stringContaining("of backup is refused") });
  expect((await cli(["get", "site_title"], { env: nextEnv })).code).toBe(5);
  expect((await cli(["token", "list"])).out).not.toContain(id);
  expect((await cli(["token", "list", "--all"])).out).toContain("revoked");
});

test("a principal is created, listed, and disabled with its tokens", async () => {
  expect(await cli(["principal", "create", "anna", "--kind", "person"])).toMatchObject({
    code: 0,
    out: "made: anna, a person without a token\n",
  });
  const taken = await cli(["principal", "create", "anna"]);
  expect(taken).toMatchObject({ code: 7, err: expect.stringContaining('"anna" exists already') });
  const made = await cli(["token", "create", "anna", "--scopes", "settings:read"]);
  const env = { MOORING_TOKEN: made.out.trim() };
  expect((await cli(["get", "site_title"], { env })).code).toBe(0);
  expect((await cli(["principal", "list"])).out).toMatch(/anna +person +\d.+ admin +no\n/);
  expect(await cli(["principal", "disable", "anna", "--yes"])).toMatchObject({
    code: 0,
    out: "disabled: every token of anna is refused from now on\n",
  });
  expect((await cli(["get", "site_title"], { env })).code).toBe(5);
  expect((await cli(["principal", "list"])).out).toMatch(/anna +person +\d.+ admin +\d.+\n/);
  expect(await cli(["token", "create", "anna", "--scopes", "settings:read"])).toMatchObject({
    code: 4,
    err: expect.stringContaining('the principal "anna" is disabled'),
  });
});

test("lists have the requested number of rows", async () => {
  for (const name of ["one", "two", "three"])
    await cli(["token", "create", name, "--scopes", "settings:read"]);
  const idsOf = async (...args: string[]): Promise<string[]> => {
    const { out } = await cli(["token", "list", "--json", ...args]);
    return JSON.parse(out).tokens.map(({ principal }: { principal: string }) => principal);
  };
  expect(await idsOf("-n", "2")).toEqual(["three", "two"]);
  expect((await idsOf()).slice(0, 3)).toEqual(["three", "two", "one"]);
  const people = JSON.parse((await cli(["principal", "list", "-n", "1", "--json"])).out);
  expect(people).toMatchObject({ principals: [{}], next_page_token: people.principals[0].name });
  expect(await cli(["token", "list", "-n", "0"])).toMatchObject({ code: 2 });
});

test("whoami with the permanent token", async () => {
  expect((await cli(["whoami"])).out).toMatch(
    /principal +admin\ntoken +the permanent admin token\n/,
  );
});

test.each<[string[], number, string]>([
  [["token", "create", "x"], 2, "--scopes is missing"],
  [["token", "create"], 2, "token create: PRINCIPAL is missing"],
  [["token", "create", "x", "--scopes", "settings:all"], 4, "unknown scope"],
  [
    ["token", "create", "x", "--scopes", "settings:read", "--expires", "2020-01-01"],
    4,
    "in the past",
  ],
  [["token", "create", "x", "--scopes", "settings:read", "--expires", "soon"], 2, "is not a time"],
  [["token", "revoke", "nothing", "--yes"], 3, "there is no token"],
  [["token", "show", "--scopes", "settings:read"], 2, "goes with token create only"],
  [["token", "list", "more"], 2, "takes no arguments"],
  [["principal", "disable", "nobody", "--yes"], 3, "there is no principal"],
  [["principal", "create", "No name"], 4, "a principal's name has"],
  [["principal", "create", "x", "--kind", "robot"], 2, "is program or person"],
  [["principal", "list", "--yes"], 2, "goes with principal disable only"],
  [["principal", "remove", "x"], 2, "help principal lists all"],
])("%j ends with %d", async (args, code, message) => {
  expect(await cli(args)).toMatchObject({ code, err: expect.stringContaining(message) });
});

test("--database has no commands for tokens of principals", async () => {
  const args = ["token", "list", "--database", service.database];
  expect(await cli(args)).toMatchObject({
    code: 2,
    err: expect.stringContaining("needs a service"),
  });
});
