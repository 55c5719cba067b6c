import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createSettingClient } from "../../src/sites/settings/client.ts";
import { push } from "../../src/sites/settings/push.ts";
import { createSiteClient } from "../../src/sync/client.ts";
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
  upToDate,
  useOneSite,
} from "./one-site.ts";
import { RETIRED } from "./stand-in-setting.ts";

useOneSite();

/** Keys of each save, in order. */
const sent = () => site.saves.map((rows) => (rows as { key: string }[]).map(({ key }) => key));

describe("keys with special behavior on the site", () => {
  test.each([
    ["search_index", "database"],
    ["multipart_chunk_size", "7"],
    ["privacy_regs", "(?i)secret"],
    ["filename_char_mapping", '{"/":"|"}'],
    ["ignore_paths", "/a"],
  ])("%s is sent alone", async (key, value) => {
    await following();
    await mooring.settings.settings.save(
      [
        { key, value },
        { key: "site_title", value: "beside it" },
        { key: "robots_txt", value: "beside it" },
      ],
      ORIGIN,
    );
    await upToDate();
    expect(sent()).toEqual([["site_title", "robots_txt"], [key]]);
    expect(site.value(key)).toBe(value);
  });

  test("ignore_paths has a longer time-out than any other key", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    site.hold = (stage) => void (stage === "save" && vi.advanceTimersByTime(100_000));
    const client = createSiteClient({ url: site.url, token: site.token(), ca: "", pin: "" });
    onTestFinished(client.close);
    const row = { ...site.settings.rows.get("ignore_paths") };
    const wanted = { key: "ignore_paths", value: "/b", row: row as never, secret: false };
    const { results } = await push(createSettingClient(client), [wanted], [wanted.row]);
    expect(results).toMatchObject([{ outcome: "applied" }]);
  });

  test("ignore_paths is sent only when it differs", async () => {
    await following();
    site.saves.length = 0;
    await mooring.save("site_title", "another");
    await upToDate();
    expect(sent()).toEqual([["site_title"]]);
  });

  test.each(Object.entries(RETIRED))(
    "%s: the site replaces a retired default by the current one",
    async (key, old) => {
      await following();
      const now = site.value(key);
      await mooring.save(key, old);
      await soon(() => Object.keys(state().rewritten)).toEqual([key]);
      expect([site.value(key), state().drift]).toEqual([now, []]);
      expect(mooring.events.at(-1)?.result).sentence(/^rewritten: /);
      const saves = site.saves.length;
      await service().check("one");
      await service().sync("one", SYNC, "test");
      expect(site.saves.length).toBe(saves);
    },
  );

  test("white space that the site removes is no drift", async () => {
    await following();
    site.put("multipart_chunk_size", " 5 ");
    await service().update("one", { overrides: { multipart_chunk_size: "5" } }, ORIGIN);
    await service().check("one");
    expect([state().drift, site.saves]).toEqual([[], []]);
  });

  test.each(["token", "version", "index_progress"])(
    "%s is neither pushed, adopted nor drift",
    async (key) => {
      await following();
      const [own, remote] = [mooring.value(key), site.value(key)];
      site.put(key, key === "token" ? (remote ?? "") : "changed by the site");
      await service().sync("one", SYNC, "test");
      await service().adopt("one", ALL, ORIGIN);
      expect([mooring.value(key), state().drift, site.saves]).toEqual([own, [], []]);
    },
  );

  test("a refusal that repeats a secret value is stored without it", async () => {
    await following();
    const save = site.settings.save;
    site.settings.save = async (body) =>
      (body as { key: string }[]).some(({ key }) => key === "sso_client_secret")
        ? { code: 500, message: "no: my-own-secret\n\tat /build/x.go" }
        : save(body);
    await mooring.save("sso_client_secret", "my-own-secret");
    await soon(() => state().refused["sso_client_secret"]?.reason).toBe("no: ********");
    expect(JSON.stringify(mooring.events)).not.toContain("my-own-secret");
  });

  test("a save of a download manager's address connects none: that is a separate step", async () => {
    await following();
    await mooring.save("aria2_uri", "http://127.0.0.1:1/jsonrpc");
    await upToDate();
    expect(site.count("POST /api/admin/setting/set_aria2")).toBe(0);
    const connect = () => service().sync("one", { ...ALL, connectDownloaders: true }, "test");
    expect((await connect()).connected).toContain("aria2");
    site.managersAnswer = false;
    await expect(connect()).rejects.toThrow(/^dial tcp .* connection refused$/);
  });

  test("a key that the site has abandoned is no setting of its own", async () => {
    await site.settings.save([{ key: "made_up", value: "1" }]);
    site.settings.start();
    await following();
    expect(mooring.value("made_up")).toBeUndefined();
    expect(state().known).not.toContain("made_up");
  });
});

describe.each(["alist", "openlist"])("default_role of AList, in a Mooring for %s", (family) => {
  beforeEach(async () => {
    await anotherFollower({ env: { MOORING_FAMILY: family } });
    await another({ manner: "alist", version: "v3.52.0" });
    await following();
  });

  test("the number of the guests' role and its name are one value at first contact", async () => {
    // Without such a setting in Mooring, a choice that the site does not have is not adopted.
    expect(mooring.value("default_role")).toBe(family === "alist" ? "1" : undefined);
    expect([state().drift, state().refused, site.saves]).toEqual([[], {}, []]);
  });

  test("is sent alone, by the role's name, and is no drift then", async () => {
    const changes = { default_role: "editor", site_title: "beside it" };
    const items = Object.entries(changes).map(([key, value]) => ({ key, value }));
    await mooring.settings.settings.save(items, ORIGIN);
    await upToDate();
    expect(sent()).toEqual([["site_title"], ["default_role"]]);
    expect([site.value("default_role"), state().drift, state().rewritten]).toEqual(["3", [], {}]);
    await service().adopt("one", ALL, ORIGIN);
    expect(mooring.value("default_role")).toBe("editor");
  });

  test.each(["4", "guest", "admin", "nobody"])(
    "%s is refused by the site, which keeps its value",
    async (value) => {
      await mooring.save("default_role", "editor");
      await upToDate();
      await mooring.save("default_role", value);
      await soon(() => state().refused["default_role"]?.reason).toMatch(/hook on default_role: /);
      expect(site.value("default_role")).toBe("3");
    },
  );
});

test.each([
  ["ftp_public_host", /differs from site to site; the site reads it at its next start/],
  ["ftp_pasv_port_map", /next start/],
  ["s3_buckets", /differs from site to site/],
  ["sso_client_id", /differs from site to site/],
  ["ldap_server", /differs from site to site/],
  ["ignore_paths", /differs from site to site/],
  ["123_temp_dir", /differs from site to site/],
  ["site_title", /differs from site to site/],
  ["aria2_uri", /a separate step/],
  ["filename_char_mapping", /until the site restarts/],
])("a comparison has the note on %s", async (key, note) => {
  await add();
  const { comparisons } = await service().compare("one");
  expect(comparisons.find((each) => each.key === key)?.note).sentence(note);
});
