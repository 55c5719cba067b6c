import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { UserResult } from "../../src/users/copy.ts";
import type { StandInOptions } from "../sites/stand-in.ts";
import type { UserRow } from "../sites/stand-in-user.ts";
import {
  ALIST,
  copied,
  copy,
  home,
  hut,
  mooring,
  notes,
  OLD_ALIST,
  openSites,
  RANDOM,
  users,
  useUsers,
} from "./two-sites.ts";

useUsers();

/** Bits 14 and 15 of OpenList, which are rights of shares. */
const SHARE = 0b11 << 14;
const ANN = { username: "ann", base_path: "/films", permission: 0b1011, sso_id: "ann@sso" };

/** A row without its id and without what no reply has. */
function shown(row: UserRow | undefined): object {
  const { id: _id, hidden: _hidden, ...rest } = row ?? ({} as UserRow);
  return rest;
}

const outcomes = (results: readonly UserResult[]) =>
  results.map(({ outcome }) => outcome).join(" ");

test("a missing user is created in one call with all its members and the given password", async () => {
  await openSites();
  home.users.add(ANN);
  const passwords = { all: "one for all", byName: {}, random: false };
  expect(await copied("ann", { passwords })).toMatchObject({ outcome: "created", password: "" });
  expect(shown(hut.users.named("ann"))).toEqual(shown(home.users.named("ann")));
  expect(hut.users.named("ann")?.hidden.password).toBe("one for all");
  expect(hut.count("POST /api/admin/user/create")).toBe(1);
  expect(hut.count("POST /api/admin/user/update")).toBe(0);
});

test("a random password is in the result only", async () => {
  await openSites();
  home.users.add(ANN);
  home.users.add({ username: "bob" });
  const passwords = { all: "", byName: { bob: "of bob" }, random: true };
  const results = await copy({ passwords });
  expect(results.map(({ name, password }) => [name, password])).toEqual([
    ["admin", ""],
    ["guest", ""],
    ["ann", `${RANDOM}1`],
    ["bob", ""],
  ]);
  expect(hut.users.named("ann")?.hidden.password).toBe(`${RANDOM}1`);
  expect(hut.users.named("bob")?.hidden.password).toBe("of bob");
  expect(JSON.stringify(notes)).not.toMatch(/generated-password|of bob/);
});

test("admin and guest are skipped, and refused when named", async () => {
  await openSites();
  const skipped = await copy();
  expect(outcomes(skipped)).toBe("skipped skipped");
  const named = await copy({ names: ["admin"], update: ["guest"] });
  expect(outcomes(named)).toBe("refused refused");
  expect(hut.count("POST /api/admin/user/create") + hut.count("POST /api/admin/user/update")).toBe(
    0,
  );
});

test("a user with the name of the other server's admin is refused", async () => {
  await openSites();
  home.users.add({ username: "chief" });
  Object.assign(hut.users.named("admin") ?? {}, { username: "chief" });
  expect(await copied("chief", { update: ["chief"] })).toMatchObject({ outcome: "refused" });
  expect(hut.users.named("chief")?.role).toBe(2);
});

test("an existing user is kept without an update, also when it is named", async () => {
  await openSites();
  home.users.add(ANN);
  hut.users.add({ username: "ann", base_path: "/mine" });
  expect(await copied("ann")).toMatchObject({
    outcome: "kept",
    differs: ["base_path", "permissions", "sso_id"],
  });
  expect(await copied("ann", { names: ["ann"] })).toMatchObject({ outcome: "refused" });
  expect(hut.users.named("ann")?.base_path).toBe("/mine");
});

test("an update sends the whole user: password, two-factor secret, role and unknown members stay", async () => {
  await openSites();
  home.users.add({ ...ANN, allow_ldap: false });
  const there = hut.users.add({
    username: "ann",
    hidden: { password: "hers", otp: "secret", passkeys: 2 },
  });
  const result = await copied("ann", { update: ["ann"] });
  expect(result).toMatchObject({ outcome: "updated", password: "" });
  expect(String(result.lost[0])).toMatch(/passkeys/);
  const after = hut.users.rows.get(there.id);
  expect(shown(after)).toEqual(shown(home.users.named("ann")));
  expect(after?.hidden).toEqual({ password: "hers", otp: "secret", passkeys: 0 });
});

test.each([
  ["disabled", { disabled: true }],
  ["another folder", { base_path: "/films" }],
  ["fewer rights", { permission: 0 }],
] as const)(
  "an update to %s holds for a user who asks while it is stored",
  async (_what, values) => {
    await openSites();
    home.users.add({ username: "ann", ...values });
    hut.users.add({ username: "ann", base_path: "/", permission: 0b1011 });
    expect(await copied("ann", { update: ["ann"] })).toMatchObject({
      outcome: "updated",
      notes: [],
    });
    expect(shown(hut.users.cached.get("ann"))).toEqual(shown(home.users.named("ann")));
  },
);

test("an update that cannot be sent again is in the result, with the reason", async () => {
  await openSites();
  home.users.add({ username: "ann", disabled: true });
  hut.users.add({ username: "ann" });
  let calls = 0;
  hut.users.hold = () => {
    calls += 1;
    if (calls === 2) hut.users.rows.delete(hut.users.named("ann")?.id ?? 0);
  };
  const result = await copied("ann", { update: ["ann"] });
  expect(result.outcome).toBe("updated");
  expect(String(result.notes)).toMatch(/former account .* record not found/);
});

test("an update without any answer says that the server may use the former account", async () => {
  await openSites();
  home.users.add({ username: "ann", disabled: true });
  hut.users.add({ username: "ann" });
  hut.users.hold = () => hut.stop();
  const result = await copied("ann", { update: ["ann"] });
  expect(result.outcome).toBe("failed");
  expect(String(result.notes)).toContain("may use the former account");
});

test("an equal user is not written, also with an update", async () => {
  await openSites();
  home.users.add(ANN);
  hut.users.add(ANN);
  expect(await copied("ann", { update: ["ann"] })).toMatchObject({ outcome: "same" });
  expect(hut.count("POST /api/admin/user/update")).toBe(0);
});

test("a disabled user is created disabled", async () => {
  await openSites();
  home.users.add({ ...ANN, disabled: true });
  await copy();
  expect(hut.users.named("ann")?.disabled).toBe(true);
});

describe("a user without logins by LDAP", () => {
  test("is disabled until the server has stored that", async () => {
    await openSites();
    home.users.add({ ...ANN, allow_ldap: false });
    const states: unknown[] = [];
    hut.users.hold = () => states.push(hut.users.named("ann")?.disabled);
    expect(await copied("ann")).toMatchObject({ outcome: "created", notes: [] });
    expect(states).toEqual([undefined, true, false]);
    expect(shown(hut.users.named("ann"))).toEqual(shown(home.users.named("ann")));
  });

  test("stays disabled when that fails, and the result says so", async () => {
    await openSites();
    home.users.add({ ...ANN, allow_ldap: false });
    let calls = 0;
    hut.users.hold = () => {
      calls += 1;
      if (calls === 2) hut.users.rows.delete(hut.users.named("ann")?.id ?? 0);
    };
    const result = await copied("ann");
    expect(String(result.notes)).toMatch(/stays disabled/);
  });
});

/** Copies between the families, of a user with all permission bits of its own. */
const FAMILIES: readonly (readonly [
  string,
  StandInOptions,
  StandInOptions,
  number,
  { readonly permission: number; readonly role: UserRow["role"]; readonly lost: RegExp },
])[] = [
  ["OpenList to OpenList", {}, {}, SHARE | 3, { permission: SHARE | 3, role: 0, lost: /^$/ }],
  ["OpenList to AList", {}, ALIST, SHARE | 3, { permission: 3, role: [0], lost: /share/ }],
  ["OpenList to older AList", {}, OLD_ALIST, SHARE | 3, { permission: 3, role: 0, lost: /share/ }],
  ["older AList to OpenList", OLD_ALIST, {}, 3, { permission: 3, role: 0, lost: /^$/ }],
  ["AList to AList", ALIST, ALIST, SHARE | 3, { permission: SHARE | 3, role: [0], lost: /^$/ }],
  ["AList to OpenList", ALIST, {}, (1 << 20) | 3, { permission: 3, role: 0, lost: /bit_20/ }],
];

describe.each(FAMILIES)("from %s", (_name, from, to, permission, wanted) => {
  test("bits with another meaning are not carried, and the result names them", async () => {
    await openSites(from, to);
    home.users.add({ ...ANN, permission });
    const result = await copied("ann");
    expect(result.outcome).toBe("created");
    const [secrets, ...lost] = result.lost.map(String);
    expect(secrets).toMatch(/password, two-factor secret and passkeys/);
    expect(lost.join()).toMatch(wanted.lost);
    const { role } = wanted;
    expect(hut.users.named("ann")).toMatchObject({ permission: wanted.permission, role });
  });

  test("an update keeps the target's own bits", async () => {
    await openSites(from, to);
    home.users.add({ ...ANN, permission });
    hut.users.add({ username: "ann", permission: (1 << 16) | 4 });
    expect(await copied("ann", { update: ["ann"] })).toMatchObject({ outcome: "updated" });
    const kept = from.manner === to.manner ? 0 : 1 << 16;
    expect(hut.users.named("ann")?.permission).toBe(wanted.permission | kept);
  });
});

describe("roles of AList", () => {
  const editors = (id: number, path = "/", permission = 0xff) => ({
    id,
    name: "editors",
    description: "",
    permission_scopes: [{ path, permission }],
  });

  test("are found by their names", async () => {
    await openSites(ALIST, ALIST);
    home.users.roles.push(editors(3));
    hut.users.roles.push(editors(8));
    home.users.add({ ...ANN, role: [3] });
    const { lost } = await copied("ann");
    expect(lost).toHaveLength(1);
    expect(hut.users.named("ann")?.role).toEqual([8]);
  });

  test("that the target does not have are named, and none replaces them", async () => {
    await openSites(ALIST, ALIST);
    home.users.roles.push(editors(3));
    home.users.add({ ...ANN, role: [3] });
    expect(String((await copied("ann")).lost)).toMatch(/editors/);
    expect(hut.users.named("ann")?.role).toEqual([0]);
  });

  test("with other rights on the target are named", async () => {
    await openSites(ALIST, ALIST);
    home.users.roles.push(editors(3));
    hut.users.roles.push(editors(3, "/", 0xfff));
    home.users.add({ ...ANN, role: [3] });
    expect(String((await copied("ann")).lost)).toMatch(/editors.*otherwise/);
  });

  /** Limits to paths, each with the target. */
  test.each([
    ["a role without the root, to OpenList", { role: [3] }, {}],
    ["a role without the root that is missing", { role: [3] }, ALIST],
    ["the bit of the limit, to OpenList", { role: [0], permission: 1 << 14 }, {}],
  ] as const)("that limit paths are not lost: %s", async (_name, user, to) => {
    await openSites(ALIST, to);
    home.users.roles.push(editors(3, "/films"));
    home.users.add({ ...ANN, ...user, role: [...user.role] });
    expect(await copied("ann")).toMatchObject({ outcome: "refused" });
    expect(hut.users.named("ann")).toBeUndefined();
  });

  test("of a limited user are never the wider ones of the same name", async () => {
    await openSites(ALIST, ALIST);
    home.users.roles.push(editors(3, "/films"));
    hut.users.roles.push(editors(3, "/"));
    home.users.add({ ...ANN, role: [3] });
    expect(await copied("ann")).toMatchObject({ outcome: "refused" });
  });
});

test("a folder that does not exist there is a note, and the user is copied", async () => {
  await openSites();
  home.users.add(ANN);
  hut.users.missing.add("/films");
  expect(String((await copied("ann", { dryRun: true })).notes)).toMatch(/\/films does not exist/);
  expect(await copied("ann")).toMatchObject({ outcome: "created" });
});

test("a dry run has the same results and writes nothing", async () => {
  await openSites();
  home.users.add(ANN);
  hut.users.add({ username: "bob", base_path: "/mine" });
  home.users.add({ username: "bob" });
  const passwords = { all: "", byName: {}, random: false };
  const planned = await copy({ dryRun: true, update: ["bob"], passwords });
  expect(hut.users.named("ann")).toBeUndefined();
  expect(notes).toEqual([]);
  const done = await copy({ update: ["bob"] });
  const plain = ({ name, outcome, lost }: (typeof done)[number]) => ({ name, outcome, lost });
  expect(planned.map(plain)).toEqual(done.map(plain));
});

describe("a failure", () => {
  test("of one user does not prevent the others", async () => {
    await openSites();
    home.users.add(ANN);
    home.users.add({ username: "bob" });
    hut.users.hold = (name) => name === "ann" && hut.users.add({ username: "ann" });
    const results = await copy();
    expect(outcomes(results)).toBe("skipped skipped failed created");
    expect(String(results[2]?.reason)).toMatch(/UNIQUE/);
    expect(results[2]?.password).toBe("");
  });

  test("of the server ends the copy, and the result says which users were not sent", async () => {
    await openSites();
    home.users.add(ANN);
    home.users.add({ username: "bob" });
    hut.users.hold = () => hut.stop();
    const results = await copy();
    expect(outcomes(results)).toBe("skipped skipped failed failed");
    expect(String(results[3]?.reason)).toMatch(/not sent/);
  });

  test("of the answer to a created user is not one of the user", async () => {
    await openSites();
    home.users.add(ANN);
    // Stored, and the connection breaks before the answer.
    hut.users.hold = (name) => {
      hut.users.add({ ...ANN, username: name });
      throw new Error("the connection breaks");
    };
    expect(await copied("ann")).toMatchObject({ outcome: "created", password: `${RANDOM}1` });
  });

  test("a caller who has gone ends the copy between two users", async () => {
    await openSites();
    home.users.add(ANN);
    home.users.add({ username: "bob" });
    const ending = new AbortController();
    hut.users.hold = () => ending.abort();
    const results = await copy({}, ending.signal);
    expect(outcomes(results)).toBe("skipped skipped created failed");
    expect(hut.users.named("bob")).toBeUndefined();
  });
});

test("an update of a user who was replaced meanwhile is refused", async () => {
  await openSites();
  home.users.add(ANN);
  const there = hut.users.add({ username: "ann" });
  // The list still has ann, and her id belongs to another user when she is read again.
  const rows = hut.users.rows;
  const get = rows.get.bind(rows);
  rows.get = (id) => (id === there.id ? { ...there, username: "eve" } : get(id));
  expect(await copied("ann", { update: ["ann"] })).toMatchObject({ outcome: "failed" });
  expect(hut.count("POST /api/admin/user/update")).toBe(0);
});

test("the users that are written are in the audit before the first call, and with their results after it", async () => {
  await openSites();
  home.users.add(ANN);
  home.users.add({ username: "bob" });
  let before = 0;
  hut.users.hold = () => {
    before ||= notes.length;
  };
  await copy();
  expect(before).toBe(1);
  const row = { from: "home", to: "hut", outcome: "created" };
  expect(notes.flatMap(({ audit }) => audit)).toMatchObject([
    { subjects: ["hut", "user:ann", "user:bob"], detail: { ...row, step: "begin" } },
    { subjects: ["hut", "user:ann", "user:bob"], detail: { ...row, step: "end" } },
  ]);
  expect(notes.flatMap(({ events }) => events)).toMatchObject([
    { action: "user", keys: ["user:ann"], result: expect.sentence("created") },
    { action: "user", keys: ["user:bob"], result: expect.sentence("created") },
  ]);
});

test("every user is in the audit, a hundred in a row, and a failed one in a row of its own", async () => {
  await openSites();
  const names = Array.from({ length: 250 }, (_, at) => `user-${at}`);
  for (const username of names) home.users.add({ username });
  home.users.add({ username: "line\nbreak" });
  hut.users.hold = (name) => name === "user-7" && hut.users.add({ username: name });
  await copy();
  const ended = notes
    .flatMap(({ audit }) => audit)
    .filter(({ detail }) => detail["step"] === "end");
  const subjects = ended.flatMap((row) => row.subjects.slice(1));
  expect(new Set(subjects)).toEqual(
    new Set([...names.map((name) => `user:${name}`), "user:line\ufffdbreak"]),
  );
  expect(ended.map((row) => [row.outcome, row.subjects.length])).toEqual([
    ["OK", 101],
    ["OK", 101],
    ["OK", 51],
    ["FAILED_PRECONDITION", 2],
  ]);
});

test.each([
  ["no password", { all: "", byName: {}, random: false }, /need a password: ann/],
  ["an empty password by name", { all: "", byName: { ann: "" }, random: false }, /1 to 255/],
  ["a password with a line break", { all: "a\nb", byName: {}, random: false }, /1 to 255/],
  ["a long password", { all: "x".repeat(256), byName: {}, random: false }, /1 to 255/],
  ["one for all and random ones", { all: "x", byName: {}, random: true }, /not both/],
  ["a password of another user", { all: "x", byName: { zed: "y" }, random: false }, /zed/],
])("%s is refused, and nothing is written", async (_name, passwords, problem) => {
  await openSites();
  home.users.add(ANN);
  await expect(copy({ passwords })).rejects.toThrow(problem);
  expect(hut.count("POST /api/admin/user/create")).toBe(0);
});

test("an unknown user and a copy to the same site are refused", async () => {
  await openSites();
  await expect(copy({ names: ["zed"] })).rejects.toThrow("home has no user zed");
  await expect(users.compare("home", "home")).rejects.toThrow("the same site");
  await expect(users.list("nowhere")).rejects.toThrow("nowhere");
});

test("a server that does not answer is UNAVAILABLE", async () => {
  await openSites();
  await hut.stop();
  await expect(copy()).rejects.toMatchObject({ code: Code.Unavailable });
  expect(mooring.sites.registry.byName("hut").mode).toBe("observe");
});
