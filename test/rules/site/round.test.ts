import { afterEach, describe, expect, test } from "vitest";
import { SiteFailure } from "../../../src/sync/failure.ts";
import { LeaseLost } from "../../../src/sync/record-sync.ts";
import { memoryStore } from "../../mounts/site/desk.ts";
import { type StandIn, type StandInOptions, startStandIn } from "../../sites/stand-in.ts";
import { type Desk, type DeskOptions, openDesk, wanted, writes } from "./desk.ts";

const ending: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

async function open(
  options: StandInOptions & { readonly desk?: DeskOptions } = {},
): Promise<{ site: StandIn; desk: Desk }> {
  const site = await startStandIn(options);
  const desk = await openDesk(site, options.desk);
  ending.push(desk.close, site.stop);
  return { site, desk };
}

describe.each(["openlist", "alist"] as const)("on a server of the family %s", (manner) => {
  test("a rule is created, changed and deleted, and sent twice", async () => {
    const { site, desk } = await open({ manner });
    desk.wanted = [wanted("/films", { password: "secret", p_sub: true, hide: "^\\.\na$" })];
    await desk.round();
    expect(site.rules.at("/films")).toMatchObject({ password: "secret", hide: "^\\.\na$" });
    expect(desk.state("/films")).toMatchObject({ applied: 1, differs: [], error: "", id: 1 });
    desk.wanted = [wanted("/films", { readme: "# Films" }, { revision: 2 })];
    await desk.round();
    expect(site.rules.at("/films")).toMatchObject({ password: "", readme: "# Films" });
    await desk.round();
    expect(writes(site)).toEqual(["create", "update", "update", "update"]);
    desk.wanted = [];
    await desk.round();
    expect(site.rules.rows.size).toBe(0);
    expect(desk.state("/films")).toBeUndefined();
  });

  test("members that Mooring does not know survive an update", async () => {
    const { site, desk } = await open({ manner });
    site.rules.later.push("motto");
    desk.wanted = [wanted("/films")];
    await desk.round();
    site.rules.put({ path: "/films", motto: "kept" });
    desk.wanted = [wanted("/films", { header: "new" }, { revision: 2 })];
    await desk.round();
    expect(site.rules.at("/films")).toMatchObject({ motto: "kept", header: "new" });
  });

  test("rules that Mooring does not manage are never touched", async () => {
    const { site, desk } = await open({ manner });
    const own = { ...site.rules.put({ path: "/own", password: "theirs", write: true }) };
    const same = { ...site.rules.put({ path: "/films", readme: "theirs" }) };
    desk.wanted = [wanted("/films", { readme: "ours" }), wanted("/new")];
    await desk.round({ forced: ["/new"] });
    await desk.round();
    desk.wanted = [];
    await desk.round();
    expect(site.rules.at("/own")).toEqual(own);
    expect(site.rules.at("/films")).toEqual(same);
    expect(writes(site)).toEqual(["create", "update", "delete"]);
  });

  test("a site with rules is not written to before an adoption or a request", async () => {
    const { site, desk } = await open({ manner });
    site.rules.put({ path: "/own" });
    desk.wanted = [wanted("/films")];
    await desk.round();
    expect(writes(site)).toEqual([]);
    await desk.round({ forced: ["/films"] });
    expect(writes(site)).toEqual(["create", "update"]);
  });

  test("an observed site is only read", async () => {
    const { site, desk } = await open({ manner, desk: { follows: () => false } });
    desk.wanted = [wanted("/films")];
    await desk.round();
    expect(writes(site)).toEqual([]);
    expect(desk.state("/films")).toMatchObject({ absent: true, applied: 0 });
  });
});

test("a rule is restricted to users by their ids on the site", async () => {
  const { site, desk } = await open();
  site.users.add({ username: "filler" });
  const ann = site.users.add({ username: "zoe" });
  desk.wanted = [wanted("/films", { read_users: ["zoe"], write_users: ["admin"] })];
  await desk.round();
  expect(site.rules.at("/films")).toMatchObject({ read_users: [ann.id], write_users: [1] });
});

describe("a rule that would lose its restriction", () => {
  test("is not sent while the site lacks a user, and sent as soon as it has one", async () => {
    const { site, desk } = await open();
    desk.wanted = [wanted("/films", { read_users: ["zoe"] }), wanted("/open")];
    await desk.round();
    expect(site.rules.at("/films")).toBeUndefined();
    expect(site.rules.at("/open")).toBeDefined();
    expect(desk.state("/films")).toMatchObject({ hindrance: "users" });
    expect(String(desk.state("/films")?.error)).toContain("zoe");
    const { id } = site.users.add({ username: "zoe" });
    await desk.round();
    expect(site.rules.at("/films")?.read_users).toEqual([id]);
    expect(desk.state("/films")).toMatchObject({ hindrance: "", applied: 1 });
  });

  test("is not sent while the users can't be read; other rules are", async () => {
    const { site, desk } = await open({
      desk: {
        wrap: (client) => ({
          ...client,
          users: async () => {
            throw new SiteFailure("refused", "no such column", { words: "no such column" });
          },
        }),
      },
    });
    desk.wanted = [wanted("/films", { read_users: ["admin"] }), wanted("/open")];
    await desk.round();
    expect([...site.rules.rows.values()].map(({ path }) => path)).toEqual(["/open"]);
    expect(String(desk.state("/films")?.error)).toContain("no such column");
  });

  test.each([true, false])(
    "is not left on a server without lists of users (known before: %s)",
    async (isKnown) => {
      const { site, desk } = await open({ manner: "alist", desk: { lacksUsers: isKnown } });
      desk.wanted = [wanted("/films", { read_users: ["admin"], write: true })];
      await desk.round();
      expect(site.rules.at("/films")).toBeUndefined();
      expect(desk.state("/films")).toMatchObject({ hindrance: "unsupported" });
      await desk.round();
      expect(desk.state("/films")).toMatchObject({ hindrance: "unsupported" });
    },
  );
});

describe("a change on the server's own page", () => {
  test("is corrected three times, then left alone until a request", async () => {
    let now = 10_000_000;
    const { site, desk } = await open({ desk: { now: () => now } });
    desk.wanted = [wanted("/films", { readme: "ours" })];
    await desk.round();
    site.rules.calls.length = 0;
    for (let times = 0; times < 5; times += 1) {
      site.rules.put({ path: "/films", readme: "theirs" });
      now += 1_000;
      await desk.round();
    }
    expect(writes(site).filter((call) => call === "update")).toHaveLength(2 * 3);
    expect(site.rules.at("/films")?.readme).toBe("theirs");
    expect(desk.state("/films")).toMatchObject({ hindrance: "flapping", differs: ["readme"] });
    await desk.round({ forced: ["/films"] });
    expect(site.rules.at("/films")?.readme).toBe("ours");
  });

  test("that gives the row another path does not delete the rule of that folder", async () => {
    const { site, desk } = await open();
    desk.wanted = [wanted("/films")];
    await desk.round();
    const row = site.rules.at("/films");
    if (row !== undefined) row.path = "/other";
    desk.wanted = [];
    await desk.round();
    expect(site.rules.at("/other")).toBeDefined();
    expect(writes(site)).toEqual(["create", "update"]);
  });

  test("between the list and a deletion prevents it", async () => {
    const { site, desk } = await open({
      desk: {
        wrap: (client) => ({
          ...client,
          get: async (id) => {
            const row = site.rules.rows.get(id);
            if (row !== undefined) row.path = "/moved";
            return client.get(id);
          },
        }),
      },
    });
    desk.wanted = [wanted("/films")];
    await desk.round();
    desk.wanted = [];
    await desk.round();
    expect(site.rules.at("/moved")).toBeDefined();
  });
});

test("a rule with another path on the site is moved there, password included", async () => {
  const { site, desk } = await open();
  desk.wanted = [wanted("/films", { password: "p" })];
  await desk.round();
  desk.wanted = [wanted("/films", { password: "p" }, { path: "/kino", revision: 2 })];
  await desk.round();
  expect([...site.rules.rows.values()]).toMatchObject([{ path: "/kino", password: "p" }]);
  expect(writes(site)).toEqual(["create", "update", "update", "update"]);
});

test("a renamed rule protects its new folder before the old one loses its rule", async () => {
  const { site, desk } = await open();
  desk.wanted = [wanted("/films", { password: "p" })];
  await desk.round();
  desk.wanted = [wanted("/kino", { password: "p" }, { revision: 2 })];
  await desk.round();
  expect(writes(site)).toEqual(["create", "update", "create", "delete", "update"]);
  expect([...site.rules.rows.values()].map(({ path }) => path)).toEqual(["/kino"]);
});

test.each([
  ["created", []],
  ["changed", [wanted("/films", { readme: "open" })]],
  ["moved", [wanted("/films", { password: "p" }, { path: "/old" })]],
] as const)(
  "a rule that is %s holds for a visitor who asks while it is stored",
  async (_how, first) => {
    const { site, desk } = await open();
    desk.wanted = [...first];
    await desk.round();
    desk.wanted = [wanted("/films", { password: "p" }, { revision: 2 })];
    await desk.round();
    expect(site.rules.at("/films")).toMatchObject({ password: "p" });
    expect(site.rules.cached.get("/films")).toEqual(site.rules.at("/films"));
  },
);

test.each([
  ["a new rule that takes the right to write", [wanted("/a", { write: true, w_sub: true })]],
  ["a changed rule that takes the right to write", [wanted("/a/b", { write: true })]],
] as const)("%s holds for a visitor who asks while it is stored", async (_what, first) => {
  const { site, desk } = await open();
  desk.wanted = [...first];
  await desk.round();
  desk.wanted = [wanted("/a", { write: true, w_sub: true }), wanted("/a/b", {}, { revision: 2 })];
  await desk.round();
  expect(site.rules.at("/a/b")).toMatchObject({ write: false });
  expect(site.rules.cached.get("/a/b")).toEqual(site.rules.at("/a/b"));
});

const LIMITS = { password: "p", hide: "^x$", write: false, read_users: ["admin"] };
const BELOW = { p_sub: true, h_sub: true, w_sub: true, read_users_sub: true };

test.each([
  ["of the rule above it", [wanted("/a", { ...LIMITS, ...BELOW })], "p", "^x$", [1]],
  ["that hold below the rule above it", [wanted("/a", { ...LIMITS, p_sub: true })], "p", "", []],
  ["of a rule that Mooring does not manage", [], "own", "", []],
] as const)(
  "a visitor who asks while a rule is deleted has the limits %s",
  async (_which, above, password, hide, readers) => {
    const { site, desk } = await open();
    const users = { read_users: [], read_users_sub: false };
    if (above.length === 0) site.rules.put({ path: "/a", password: "own", p_sub: true, ...users });
    const open_ = wanted("/a/b/c", { write: true });
    desk.wanted = [...above, open_];
    await desk.round({ forced: [open_.name] });
    desk.wanted = [...above];
    await desk.round();
    expect(site.rules.at("/a/b/c")).toBeUndefined();
    expect(site.rules.cached.get("/a/b/c")).toMatchObject({
      password,
      hide,
      write: false,
      read_users: readers,
    });
  },
);

test.each(["create", "update"] as const)(
  "a process that ends after a %s clears the server's cache at its next start",
  async (call) => {
    const store = memoryStore();
    const site = await startStandIn();
    ending.push(site.stop);
    if (call === "update") {
      const first = await openDesk(site, { store });
      first.wanted = [wanted("/films", { readme: "open" })];
      await first.round();
      first.close();
    }
    const desk = await openDesk(site, {
      store,
      wrap: (client) => ({
        ...client,
        create: async (body, secrets) => {
          await client.create(body, secrets);
          throw new Error("killed");
        },
        update: async (id, body, secrets) => {
          await client.update(id, body, secrets);
          throw new Error("killed");
        },
      }),
    });
    ending.push(desk.close);
    const rule = wanted("/films", { password: "p" }, { revision: 2 });
    desk.wanted = [rule];
    await expect(desk.round()).rejects.toThrow("killed");
    const sent = writes(site).length;
    const next = await openDesk(site, { store });
    ending.push(next.close);
    next.wanted = [rule];
    await next.round({ aim: "read" });
    expect(writes(site)).toHaveLength(sent);
    await next.round();
    expect(site.rules.cached.get("/films")).toMatchObject({ password: "p" });
    const settled = writes(site).length;
    await next.round();
    expect(writes(site)).toHaveLength(settled);
    expect(next.state("/films")).toMatchObject({ applied: 2, differs: [], corrections: [] });
  },
);

test("a refused rule is tried again after a pause, and its password is not in the message", async () => {
  let now = 10_000_000;
  const { site, desk } = await open({ desk: { now: () => now } });
  desk.wanted = [wanted("/films", { hide: "(secret-word", password: "secret-word" })];
  await desk.round();
  expect(desk.state("/films")).toMatchObject({ hindrance: "call", failures: 1, creating: false });
  expect(String(desk.state("/films")?.error)).toContain("is illegal");
  expect(String(desk.state("/films")?.error)).not.toContain("secret-word");
  await desk.round();
  expect(writes(site)).toEqual(["create"]);
  now += 60_000;
  await desk.round();
  expect(writes(site)).toEqual(["create", "create"]);
});

test("a creation whose reply was lost is not repeated, and the rule is sent once more", async () => {
  const store = memoryStore();
  const { site, desk } = await open({
    desk: {
      store,
      wrap: (client) => ({
        ...client,
        create: async (body, secrets) => {
          await client.create(body, secrets);
          throw new SiteFailure("silent", "no answer");
        },
      }),
    },
  });
  desk.wanted = [wanted("/films", { password: "p" })];
  await expect(desk.round()).rejects.toThrow("no answer");
  const next = await openDesk(site, { store });
  ending.push(next.close);
  next.wanted = desk.wanted;
  await next.round();
  expect(writes(site)).toEqual(["create", "update", "update"]);
  expect(next.state("/films")).toMatchObject({ applied: 1, differs: [] });
});

test("a process that has lost the lease writes nothing", async () => {
  const { site, desk } = await open({ desk: { mayWrite: () => false } });
  desk.wanted = [wanted("/films")];
  await expect(desk.round()).rejects.toThrow(LeaseLost);
  expect(writes(site)).toEqual([]);
});

test("an idle round makes one read and stores nothing", async () => {
  const store = memoryStore();
  let written = 0;
  const counting = {
    ...store,
    write: (changes: Parameters<typeof store.write>[0]) => {
      written += 1;
      return store.write(changes);
    },
  };
  const { site, desk } = await open({ desk: { store: counting } });
  desk.wanted = [wanted("/films"), wanted("/users", { read_users: ["nobody"] })];
  await desk.round();
  await desk.round();
  const [calls, before] = [site.count("GET /api/admin/meta/list"), written];
  await desk.round();
  expect(site.count("GET /api/admin/meta/list")).toBe(calls + 1);
  expect(written).toBe(before);
});
