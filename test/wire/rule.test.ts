import { describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { as, give, jsonOf } from "./access-client.ts";
import { startService } from "./service.ts";

const service = startedForAll(startService);
const admin = startedForAll(() => as(service.port));

interface Envelope {
  readonly code: number;
  readonly message: string;
  readonly data: Record<string, unknown>;
}

/** Calls a REST route as the permanent token, or as another. */
async function rest(path: string, body?: unknown, token?: string): Promise<Envelope> {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/rule/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: token ?? admin.headers.authorization,
      "content-type": "application/json",
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return (await reply.json()) as Envelope;
}

const save = (rule: Record<string, unknown>, more: Record<string, unknown> = {}) =>
  rest("save", { rules: [rule], ...more });
const revisionNow = async (): Promise<bigint> => (await admin.rules.listRules({})).revision;

describe("a folder rule", () => {
  test("is saved, read, changed in part and deleted by its path in any notation", async () => {
    const made = await save({
      path: "films//x/../",
      password: "popcorn",
      p_sub: true,
      hide: "a\n",
    });
    expect(made.data).toMatchObject({ results: [{ path: "/films", outcome: "created" }] });
    const read = await rest("get?path=/films/");
    expect(read.data).toMatchObject({
      path: "/films",
      password: "********",
      p_sub: true,
      write: false,
      hide: "a",
      read_users: [],
      sites: { all: true },
      overrides: {},
      missing: [],
    });
    const changed = await save({
      path: "/films",
      readme: "# Films",
      read_users: ["ann", "bob", "ann"],
    });
    expect(changed.data).toMatchObject({
      results: [{ path: "/films", outcome: "changed", differs: ["readme", "read_users"] }],
    });
    expect((await rest("get?path=films&reveal=true")).data).toMatchObject({
      password: "popcorn",
      readme: "# Films",
      read_users: ["ann", "bob"],
    });
    const gone = await rest("delete", { paths: ["films"] });
    expect(gone.data).toMatchObject({ results: [{ path: "/films", outcome: "deleted" }] });
    expect(await rest("get?path=/films")).toMatchObject({ code: 404 });
  });

  test("is sent back as it was read without a change", async () => {
    await save({ path: "/back", password: "p-1", hide: "x", write_users: ["ann"] });
    const { data } = await rest("get?path=/back");
    const again = await save({
      ...data,
      expected_etag: data["etag"],
      status: undefined,
      missing: undefined,
      revision: undefined,
      etag: undefined,
    });
    expect(again.data).toMatchObject({ results: [{ outcome: "unchanged" }] });
  });

  test.each([
    ["an expression that servers do not compile", { hide: "ok\n(" }, "rules[0].hide", "line 2"],
    ["an escape that only JavaScript knows", { hide: "\\y" }, "rules[0].hide", "line 1"],
    ["a user that is no text", { read_users: ["ann", 7] }, "rules[0].read_users", "list of texts"],
    ["an empty name of a user", { write_users: [""] }, "rules[0].write_users", "[0]"],
    ["a text beyond 64 KiB", { readme: "x".repeat(65_537) }, "rules[0].readme", "65536"],
    ["a control character in a password", { password: "a\nb" }, "rules[0].password", "control"],
    ["an unknown site", { sites: { names: ["nowhere"] } }, "rules[0].sites", "nowhere"],
    [
      "an override of an unknown site",
      { overrides: { nowhere: { readme: "x" } } },
      "rules[0].overrides.nowhere",
      "nowhere",
    ],
    ["a path with a control character", { path: "/a\u0001" }, "rules[0].path", "control"],
    ["no path", { path: "" }, "rules[0].path", "1 to"],
  ])("is refused with %s, which is named", async (_what, values, field, words) => {
    const before = await revisionNow();
    const refused = await save({ path: "/bad", ...values });
    expect(refused.code).toBe(400);
    expect(refused.message).toContain(field);
    expect(refused.message).toContain(words);
    expect(await revisionNow()).toBe(before);
  });

  test.each([
    "(?<!\\.)tmp",
    "(?>a+)b",
    "(?(1)a|b)()",
    "[a-z-[aeiou]]",
    "(?i)thumbs\\.db",
    "^(?<year>\\d{4})-\\k<year>$",
    "\\A\\p{Lu}",
  ])("hides names by the expression %s of .NET", async (hide) => {
    expect((await save({ path: "/net", hide }, { dry_run: true })).code).toBe(200);
  });

  test("keeps its password for ********, and loses it for an empty one", async () => {
    await save({ path: "/kept", password: "first" });
    await save({ path: "/kept", password: "********", readme: "x" });
    expect((await rest("get?path=/kept&reveal=true")).data["password"]).toBe("first");
    await save({ path: "/kept", password: "" });
    expect((await rest("get?path=/kept")).data["password"]).toBe("");
  });

  test("with an etag is saved only in the state that was read", async () => {
    await save({ path: "/tagged", readme: "1" });
    const { etag } = (await rest("get?path=/tagged")).data;
    expect((await save({ path: "/tagged", readme: "2", expected_etag: etag })).code).toBe(200);
    expect(await save({ path: "/tagged", readme: "3", expected_etag: etag })).toMatchObject({
      code: 409,
    });
    expect((await save({ path: "/tagged", expected_etag: "0" })).code).toBe(409);
    expect((await save({ path: "/never", expected_etag: etag })).code).toBe(409);
  });

  test("is moved with its values and its password, in one revision", async () => {
    await save({ path: "/old", password: "moved", hide: "x" });
    const before = await revisionNow();
    const tried = await rest("move", { path: "/old", new_path: "new/", dry_run: true });
    expect(tried.data).toMatchObject({
      results: [
        { path: "/old", outcome: "deleted" },
        { path: "/new", outcome: "created" },
      ],
    });
    expect(await revisionNow()).toBe(before);
    expect((await rest("move", { path: "/old", new_path: "/new" })).code).toBe(200);
    expect(await revisionNow()).toBe(before + 1n);
    expect((await rest("get?path=/new&reveal=true")).data).toMatchObject({
      password: "moved",
      hide: "x",
    });
    expect((await rest("move", { path: "/new", new_path: "/kept" })).code).toBe(409);
    expect((await rest("move", { path: "/none", new_path: "/x" })).code).toBe(404);
  });

  test("is found by its path in another Unicode normalization, and keeps its own", async () => {
    const [composed, decomposed] = ["/caf\u00e9", "/cafe\u0301"];
    await save({ path: composed, readme: "1" });
    const changed = await save({ path: decomposed, readme: "2" });
    expect(changed.data).toMatchObject({ results: [{ path: composed, outcome: "changed" }] });
    expect((await rest(`get?path=${encodeURIComponent(decomposed)}`)).data["path"]).toBe(composed);
  });

  test("is in the history with its items and without its password, and is restored", async () => {
    await save({ path: "/past", password: "secret-of-past", hide: "a", readme: "first" });
    const before = await revisionNow();
    await save({ path: "/past", readme: "second", hide: "" });
    const { changes } = await admin.settings.getRevision({ revision: before + 1n });
    expect(changes).toMatchObject([
      {
        key: "rule:/past",
        items: [
          { name: "hide", oldValue: "a" },
          { name: "readme", oldValue: "first", newValue: "second" },
        ],
      },
    ]);
    const back = await admin.settings.rollback({ to: before, only: ["rule:/past"] });
    expect(back.results).toMatchObject([
      { kind: "rule", key: "rule:/past", outcome: "changed", differs: ["hide", "readme"] },
    ]);
    expect((await rest("get?path=/past&reveal=true")).data).toMatchObject({
      hide: "a",
      readme: "first",
      password: "secret-of-past",
    });
    expect(jsonOf(changes)).not.toContain("secret-of-past");
  });

  test("that was deleted is restored as incomplete until its password is given", async () => {
    await save({ path: "/lost", password: "lost-1", readme: "x" });
    const before = await revisionNow();
    await rest("delete", { paths: ["/lost"] });
    const back = await admin.settings.rollback({ to: before, only: ["rules"] });
    expect(back.results).toMatchObject([
      { key: "rule:/lost", outcome: "created", notRestored: ["password"] },
    ]);
    expect((await rest("get?path=/lost")).data).toMatchObject({
      password: "",
      missing: ["password"],
    });
    await save({ path: "/lost", readme: "y" });
    expect((await rest("get?path=/lost")).data["missing"]).toEqual(["password"]);
    await save({ path: "/lost", password: "lost-2" });
    expect((await rest("get?path=/lost")).data["missing"]).toEqual([]);
  });

  test("is watched with each change", async () => {
    const ending = new AbortController();
    const stream = admin.rules.watchRules({}, { signal: ending.signal });
    const events = stream[Symbol.asyncIterator]();
    const first = await events.next();
    expect(first.value?.rules.length).toBeGreaterThan(0);
    await save({ path: "/seen", readme: "x" });
    expect((await events.next()).value?.rules).toMatchObject([{ path: "/seen" }]);
    await rest("delete", { paths: ["/seen"] });
    expect((await events.next()).value?.removed).toEqual(["/seen"]);
    ending.abort();
  });
});

describe("a token", () => {
  test("with limits sees and changes the rules at its paths alone", async () => {
    await save({ path: "/team/a", readme: "in" });
    await save({ path: "/other", readme: "out", password: "out-of-limits" });
    const scopes = ["rules:write", "history:read", "history:rollback"];
    const { text } = await give(admin, scopes, ["rule:/team/*"]);
    const listed = await rest("list", undefined, text);
    expect(listed.data["rules"]).toMatchObject([{ path: "/team/a" }]);
    expect((await rest("get?path=/other", undefined, text)).code).toBe(403);
    expect((await rest("get?path=/unknown", undefined, text)).code).toBe(403);
    for (const body of [
      { rules: [{ path: "/other", readme: "x" }] },
      { rules: [{ path: "/team/a", overrides: {} }, { path: "/new" }] },
    ])
      expect((await rest("save", body, text)).code).toBe(403);
    expect((await rest("delete", { paths: ["/other"] }, text)).code).toBe(403);
    expect((await rest("move", { path: "/team/a", new_path: "/mine" }, text)).code).toBe(403);
    expect((await rest("move", { path: "/team/a", new_path: "/other" }, text)).code).toBe(403);
    expect((await rest("save", { rules: [{ path: "/team/a", readme: "y" }] }, text)).code).toBe(
      200,
    );
    const limited = as(service.port, text);
    const { revisions } = await limited.settings.listRevisions({});
    expect(new Set(revisions.flatMap(({ keys }) => keys))).toEqual(new Set(["rule:/team/a"]));
    limited.close();
  });

  test.each([
    ["of mounts", ["mounts:write", "settings:read"], []],
    ["with limits of mounts only", ["rules:read", "mounts:read"], ["mount:/team/*"]],
    ["with limits of settings only", ["rules:read", "settings:read"], ["key:*"]],
  ])("%s sees no rule", async (_what, scopes, limits) => {
    const { text } = await give(admin, scopes, limits);
    const listed = await rest("list", undefined, text);
    expect(listed.data?.["rules"] ?? []).toEqual([]);
    expect((await rest("get?path=/team/a", undefined, text)).code).toBe(403);
  });

  test("that may not read passwords learns none by guesses, masks or reveals", async () => {
    await save({ path: "/guarded", password: "right-guess" });
    const { text } = await give(admin, ["rules:write", "history:read"]);
    expect((await rest("get?path=/guarded&reveal=true", undefined, text)).code).toBe(403);
    expect((await rest("list?reveal=true", undefined, text)).code).toBe(403);
    const results = [];
    for (const password of ["right-guess", "wrong-guess"]) {
      const body = { rules: [{ path: "/guarded", password }], dry_run: true };
      results.push((await rest("save", body, text)).data["results"]);
    }
    expect(results[0]).toMatchObject([{ outcome: "changed", differs: ["password"] }]);
    expect(results[1]).toEqual(results[0]);
    const shown = [];
    for (const password of ["right-guess", "other-guess"]) {
      await rest("save", { rules: [{ path: "/guarded", password }] }, text);
      const writer = as(service.port, text);
      const { changes } = await writer.settings.getRevision({ revision: await revisionNow() });
      shown.push(
        changes[0]?.items.map(({ name, oldValue, newValue }) => [name, oldValue, newValue]),
      );
      writer.close();
    }
    expect(shown[0]).toEqual([["password", "********", "********"]]);
    expect(shown[1]).toEqual(shown[0]);
  });
});

describe("metas of a server", () => {
  test("are imported from a backup of its web page, except those with users of that server", async () => {
    const document = {
      encrypted: "",
      settings: [],
      users: [{ id: 1, username: "ann" }],
      storages: [],
      metas: [
        { id: 1, path: "/meta/a", password: "of-the-server", p_sub: true, hide: "x\n", readme: "" },
        { id: 2, path: "/meta/b", read_users: [1] },
      ],
    };
    const planned = await admin.backup.importArchive({ document, dryRun: true });
    const { results } = await admin.backup.importArchive({ document });
    expect(planned.results.map(({ name, outcome }) => [name, outcome])).toEqual(
      results.map(({ name, outcome }) => [name, outcome]),
    );
    expect(results).toMatchObject([
      { part: "rules", name: "/meta/a", outcome: "created" },
      { part: "rules", name: "/meta/b", outcome: "skipped", isLoss: true },
    ]);
    const read = await rest("get?path=/meta/a&reveal=true");
    // As the server has it: an empty line hides every name there.
    expect(read.data).toMatchObject({ password: "of-the-server", p_sub: true, hide: "x\n" });
    expect((await rest("get?path=/meta/b")).code).toBe(404);
  });
});

describe.each([
  ["an archive", { declared: false, replaceSecrets: false }],
  ["an archive that replaces secrets", { declared: false, replaceSecrets: true }],
  ["a file that declares rules", { declared: true, replaceSecrets: false }],
])("%s without passwords", (_name, choices) => {
  test.each(["/kept", "/kept/", "kept", "//kept", "/x/../kept", "\\kept"])(
    "leaves that of a rule which it names %s",
    async (name) => {
      await save({ path: "/kept", password: "stays", hide: "x" });
      const rule = { name, hide: "y", omitted: ["password"] };
      const document = { format: "mooring-archive", version: 1, rules: [rule] };
      const planned = await admin.backup.importArchive({ document, ...choices, dryRun: true });
      expect(planned.leftAlone.flatMap(({ names }) => names)).not.toContain("/kept");
      const { results } = await admin.backup.importArchive({ document, ...choices });
      expect(results).toMatchObject([{ name: "/kept", outcome: "changed", isLoss: false }]);
      expect((await rest("get?path=/kept&reveal=true")).data).toMatchObject({
        password: "stays",
        hide: "y",
        missing: [],
      });
    },
  );
});
