import { expect, test } from "vitest";
import { permissionNames } from "../../src/users/user.ts";
import { ALIST, home, hut, OLD_ALIST, openSites, users, useUsers } from "./two-sites.ts";

useUsers();

test("a list is read in pages, each user once", async () => {
  await openSites();
  for (let at = 0; at < 1_200; at += 1) home.users.add({ username: `user-${at}` });
  const { users: found } = await users.list("home");
  expect(found).toHaveLength(1_202);
  expect(new Set(found.map(({ name }) => name)).size).toBe(1_202);
  expect(home.count("GET /api/admin/user/list")).toBe(3);
});

test("a longer list than 10,000 users is refused as a whole", async () => {
  await openSites();
  for (let at = 0; at < 10_000; at += 1) home.users.add({ username: `user-${at}` });
  await expect(users.list("home")).rejects.toThrow(/10002 entries, and at most 10000/);
});

test.each([
  ["OpenList", {}, "openlist", ["general"], true],
  ["AList with roles", ALIST, "alist", ["general"], undefined],
  ["older AList", OLD_ALIST, "alist", ["general"], undefined],
] as const)(
  "users of %s have names of roles and no password",
  async (_name, options, family, roles, allowLdap) => {
    await openSites(options);
    home.users.add({
      username: "ann",
      base_path: "films/",
      hidden: { password: "x", otp: "y", passkeys: 1 },
    });
    const found = await users.list("home");
    expect(found.family).toBe(family);
    expect(found.users.map((user) => user.roles)).toEqual([["admin"], ["guest"], roles]);
    expect(found.users.at(-1)).toMatchObject({ name: "ann", basePath: "/films", allowLdap });
    expect(JSON.stringify(found)).not.toMatch(/password|otp/);
  },
);

test.each([
  ["a text", "hello"],
  ["a user without a name", { content: [{ id: 1 }], total: 1 }],
  ["a total that is no number", { content: [], total: "many" }],
])("an invalid list is refused: %s", async (_name, data) => {
  await openSites();
  home.mode = { kind: "reply", body: JSON.stringify({ code: 200, message: "success", data }) };
  await expect(users.list("home")).rejects.toThrow(/invalid entries/);
});

test("a list of more than 16 MiB is refused", async () => {
  await openSites();
  for (const username of ["ann", "bob", "eve"])
    Object.assign(home.users.add({ username }), { note: "x".repeat(7 * 2 ** 20) });
  home.users.pageSize = 1;
  await expect(users.list("home")).rejects.toThrow(/more than 16 MiB/);
});

test("a list whose total grows with each page ends", async () => {
  await openSites();
  const row = {
    id: 1,
    username: "a",
    base_path: "/",
    role: 0,
    disabled: false,
    permission: 0,
    sso_id: "",
  };
  const data = { content: [row], total: 9_999 };
  home.mode = { kind: "reply", body: JSON.stringify({ code: 200, message: "success", data }) };
  expect((await users.list("home")).users).toHaveLength(1);
});

test("permission bits have the names of their family", () => {
  expect(permissionNames(0b11 << 14, "openlist")).toEqual(["share", "share_custom_id"]);
  expect(permissionNames(0b11 << 14, "alist")).toEqual(["path_limit", "bit_15"]);
  expect(permissionNames(-1, "openlist")).toHaveLength(32);
});

test("a comparison names the members that differ, without those of one family alone", async () => {
  await openSites({}, ALIST);
  home.users.add({ username: "same", permission: (1 << 14) | 1, allow_ldap: false });
  hut.users.add({ username: "same", permission: 1 });
  home.users.add({ username: "other", base_path: "/a", permission: 1 });
  hut.users.add({ username: "other", base_path: "/b", permission: 2, disabled: true, sso_id: "x" });
  home.users.add({ username: "here" });
  hut.users.add({ username: "there" });
  const { comparisons } = await users.compare("home", "hut");
  expect(comparisons.map(({ name, state, differs }) => [name, state, differs.join()])).toEqual([
    ["admin", "same", ""],
    ["guest", "same", ""],
    ["same", "same", ""],
    ["other", "differs", "base_path,disabled,permissions,sso_id"],
    ["here", "missing", ""],
    ["there", "extra", ""],
  ]);
});
