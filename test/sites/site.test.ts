import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ALL, ORIGIN } from "./follower.ts";
import {
  add,
  another,
  anotherFollower,
  following,
  mooring,
  SYNC,
  service,
  site,
  soon,
  state,
  useOneSite,
} from "./one-site.ts";
import { type StandIn, startStandIn } from "./stand-in.ts";

useOneSite();

describe("first contact", () => {
  test("a new site is read, and nothing is written to it", async () => {
    const { site: made, state: known } = await add();
    expect(made.mode).toBe("observe");
    expect(known).toMatchObject({ kind: "openlist", appliedRevision: 0 });
    expect([...known.drift].sort()).toEqual([
      "announcement",
      "privacy_regs",
      "share_summary_content",
    ]);
    await mooring.save("site_title", "mine");
    await service().check("one");
    expect(site.saves).toEqual([]);
  });

  test("a sync of some keys is not a whole push, even if only they differed", async () => {
    const { state: known } = await add();
    const partial = await service().sync("one", { ...SYNC, keys: known.drift }, "test");
    expect(partial.results.map(({ outcome }) => outcome)).toEqual(known.drift.map(() => "applied"));
    expect(state()).toMatchObject({ appliedRevision: 0, drift: [] });
    await expect(service().update("one", { mode: "follow" }, ORIGIN)).rejects.toThrow(
      "cannot follow yet",
    );
    const { revision } = await service().sync("one", SYNC, "test");
    expect(state().appliedRevision).toBe(revision);
    await service().update("one", { mode: "follow" }, ORIGIN);
  });

  test("adopting saves the site's values in one revision, a dry run saves none", async () => {
    await add();
    const dry = await service().adopt("one", { keys: [], dryRun: true }, ORIGIN);
    expect(dry.results).toHaveLength(3);
    expect(mooring.value("announcement")).not.toBe(site.value("announcement"));
    const { revision } = await service().adopt("one", ALL, ORIGIN);
    expect(mooring.value("announcement")).toBe(site.value("announcement"));
    expect(state()).toMatchObject({ appliedRevision: revision, drift: [] });
    expect(mooring.value("token")).not.toBe(site.token());
    expect(site.saves).toEqual([]);
  });

  test("values that are invalid in Mooring are listed, and stay on the site until Mooring's own change", async () => {
    await site.settings.save([
      { ...site.settings.rows.get("default_page_size"), value: "many" },
      { ...site.settings.rows.get("site_title"), value: "a\0b" },
    ]);
    await add();
    const { results } = await service().adopt("one", ALL, ORIGIN);
    const refused = results.filter(({ outcome }) => outcome === "refused");
    expect(refused.map(({ key }) => key).sort()).toEqual(["default_page_size", "site_title"]);
    await service().update("one", { mode: "follow" }, ORIGIN);
    await service().sync("one", SYNC, "test");
    expect(site.value("default_page_size")).toBe("many");
    await mooring.save("default_page_size", "25");
    await soon(() => site.value("default_page_size")).toBe("25");
    expect(site.value("site_title")).toBe("a\0b");
  });

  test("AList: its own settings become custom ones, and its secrets are not adopted", async () => {
    await another({ manner: "alist" });
    await add();
    const { results } = await service().adopt("one", ALL, ORIGIN);
    expect(results).toContainEqual({ key: "allow_register", outcome: "added", reason: "" });
    expect(results.find(({ key }) => key === "frp_auth_token")?.outcome).toBe("refused");
    expect(mooring.value("allow_register")).toBe("false");
    await service().update("one", { mode: "follow" }, ORIGIN);
    await mooring.save("allow_register", "true");
    await soon(() => site.value("allow_register")).toBe("true");
    expect(site.settings.rows.get("frp_auth_token")?.value).toBe("frp-secret");
  });
});

describe("trouble", () => {
  test.each([
    ["please-wait", { kind: "please-wait" as const }, "loading"],
    ["HTML for everything", { kind: "html" as const }, "foreign"],
    ["HTTP 500 with no body", { kind: "error" as const }, "foreign"],
    ["a redirect", { kind: "redirect" as const, to: "https://b.example/x" }, "redirect"],
    ["a list of 50 MB", { kind: "huge" as const, bytes: 50_000_000 }, "too_large"],
  ])(
    "%s: the site is unchanged, the reason is recorded, and it continues afterwards",
    async (_, mode, kind) => {
      await following();
      site.mode = mode;
      await mooring.save("site_title", "later");
      await soon(() => state().error?.kind).toBe(kind);
      expect(site.saves).toEqual([]);
      if (kind === "redirect") expect(state().error?.message).sentence("https://b.example/x");
      site.mode = undefined;
      await soon(() => site.value("site_title")).toBe("later");
      await soon(() => state().error).toBeUndefined();
    },
  );

  test("a refused token stops everything until it is replaced", async () => {
    let time = Date.now();
    await anotherFollower({ now: () => time });
    const beside = await startStandIn();
    await following();
    await service().create({ name: "two", url: beside.url, token: beside.token() }, ORIGIN);
    site.settings.resetToken();
    await mooring.save("site_title", "with the new token");
    await soon(() => state().error?.kind).toBe("unauthorized");
    const lists = (of: StandIn) => of.count("GET /api/admin/setting/list");
    const before = lists(site);
    for (let hour = 0; hour < 3; hour += 1) {
      time += 3_600_000;
      // The other site is read after this one.
      await soon(() => service().get("two").state.reachedAt).toBe(time);
    }
    expect(lists(site)).toBe(before);
    await service().update("one", { token: site.token() }, ORIGIN);
    await soon(() => site.value("site_title")).toBe("with the new token");
    await beside.stop();
  });

  test("invalid input is refused with its reason, and nothing of it is stored", async () => {
    const unknown = Array.from({ length: 200 }, (_, at) => [`no_such_key_${at}`, "x"]);
    for (const [input, reason] of [
      [{ url: "ftp://x" }, "must be an address"],
      [{ url: "http://a:b@127.0.0.1:1" }, "user name or password"],
      [{ overrides: { no_such_key: "x" } }, "neither Mooring nor the site"],
      [{ overrides: { token: "x" } }, "never pushed"],
      [{ overrides: Object.fromEntries(unknown) }, "and 19 more"],
      [{ name: "a b" }, "name must have 1 to 64"],
      [{ include: ["group:x"] }, "group by its number"],
    ] as const)
      await expect(add(input)).rejects.toThrow(reason);
    expect(service().list()).toEqual([]);
  });

  test("a site below a path is found there, and the error reports a missing one", async () => {
    await another({ basePath: "/files" });
    await add();
    await service().delete("one", ORIGIN);
    await expect(add({ url: `http://127.0.0.1:${site.port}` })).rejects.toThrow("check the path");
  });

  test("neither token nor overrides are plain text in the database", async () => {
    await add({ overrides: { sso_client_secret: "my-own-secret" } });
    const bytes = ["mooring.db", "mooring.db-wal"].map((name) =>
      readFileSync(join(mooring.folder, name)).toString("latin1"),
    );
    for (const text of bytes) {
      expect(text).not.toContain(site.token());
      expect(text).not.toContain("my-own-secret");
    }
  });
});
