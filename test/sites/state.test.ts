import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ALL, type Follower, followSite, ORIGIN, startFollower } from "./follower.ts";
import { type StandIn, type StandInOptions, startStandIn } from "./stand-in.ts";

const soon = <T>(look: () => T) => expect.poll(look);

let mooring: Follower;
let site: StandIn;
/** Time of the follower's clock, in milliseconds. */
let time: number;

beforeEach(async () => {
  time = Date.now();
  [mooring, site] = await Promise.all([startFollower(), startStandIn()]);
});

afterEach(async () => {
  await mooring.close();
  await site.stop();
});

async function another(options: StandInOptions): Promise<void> {
  await site.stop();
  site = await startStandIn(options);
}

async function anotherMooring(options: Parameters<typeof startFollower>[0]): Promise<void> {
  await mooring.close();
  mooring = await startFollower(options);
}

const service = () => mooring.sites.service;
const state = () => service().get("one").state;
const add = () => service().create({ name: "one", url: site.url, token: site.token() }, ORIGIN);

describe("a site that does not answer", () => {
  test("has an unknown state while it hangs, and is followed again when it answers", async () => {
    await anotherMooring({ times: { call: 1_500 } });
    await followSite(mooring, site);
    site.mode = { kind: "hang" };
    await mooring.save("site_title", "later");
    await soon(() => state().error?.kind).toBe("silent");
    expect(state().error?.message).toContain("storages may still be loading");
    expect(site.saves).toEqual([]);
    site.mode = undefined;
    await soon(() => site.value("site_title")).toBe("later");
    await soon(() => state().error).toBeUndefined();
  });

  test("is tried again after 1 s, 2 s, 4 s … up to a minute, with jitter of up to a half", async () => {
    await anotherMooring({ now: () => time });
    await followSite(mooring, site);
    await site.stop();
    const pauses: number[] = [];
    await mooring.save("site_title", "while it is down");
    for (let tries = 1; tries <= 9; tries += 1) {
      await soon(() => state().failures).toBe(tries);
      pauses.push(state().nextTry - time);
      time = state().nextTry;
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
    await site.start();
    await soon(() => site.value("site_title")).toBe("while it is down");
  });

  test("is tried at once when it answers a probe, for any remaining pause", async () => {
    await anotherMooring({ now: () => time });
    await followSite(mooring, site);
    await site.stop();
    await mooring.save("site_title", "while it is down");
    for (let tries = 1; tries <= 8; tries += 1) {
      await soon(() => state().failures).toBe(tries);
      if (tries < 8) time = state().nextTry;
    }
    const { nextTry } = state();
    await site.start();
    time += 2_000;
    await soon(() => site.value("site_title")).toBe("while it is down");
    expect(time).toBeLessThan(nextTry);
    await soon(() => state().error).toBeUndefined();
    // A probe needs no token, and neither registers a device nor reads a private setting.
    const probes = site.seen.filter(({ url }) => url === "/api/public/settings");
    expect(probes.map(({ headers }) => headers.authorization)).toEqual([""]);
  });

  test("is unaffected by a restart in between: the permanent token stays valid", async () => {
    await followSite(mooring, site);
    await site.restart();
    await mooring.save("site_title", "after the restart");
    await soon(() => site.value("site_title")).toBe("after the restart");
  });

  test("is corrected after a save that is stored after its time-out", async () => {
    await anotherMooring({ times: { call: 1_500 } });
    await followSite(mooring, site);
    const release = Promise.withResolvers<void>();
    site.hold = (stage) => (stage === "save" ? release.promise : undefined);
    await mooring.save("site_title", "given up");
    await soon(() => site.saves.length).toBe(1);
    site.hold = undefined;
    await mooring.save("site_title", "the newer one");
    await soon(() => site.value("site_title")).toBe("the newer one");
    release.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(site.value("site_title")).toBe("given up");
    await soon(() => site.value("site_title")).toBe("the newer one");
  });
});

describe("a site that confirms a save", () => {
  test.each([
    ["site_title", "there in the end"],
    ["multipart_chunk_size", "9"],
    ["logo", "https://there.example/logo.svg"],
  ])(
    "and has its old %s gets one repetition, because an abandoned save may have been stored",
    async (key, value) => {
      await followSite(mooring, site);
      const before = site.value(key) ?? "";
      site.hold = (stage) => {
        if (stage !== "stored") return;
        site.hold = undefined;
        site.put(key, before);
      };
      await mooring.save(key, value);
      await soon(() => site.value(key)).toBe(value);
      await soon(() => state().appliedRevision).toBe(service().revision());
      expect(state().refused).toEqual({});
      expect(site.saves).toHaveLength(2);
    },
  );

  test("and keeps its value has refused the new one, which is not tried again", async () => {
    await followSite(mooring, site);
    site.settings.save = async () => ({ code: 200, message: "success" });
    await mooring.save("site_title", "never there");
    await soon(() => state().refused["site_title"]?.reason).toEqual(
      "the site accepted the save but kept its value",
    );
    expect(site.saves).toHaveLength(2);
    await service().check("one");
    expect(site.saves).toHaveLength(2);
  });
});

describe("calls to a site", () => {
  test("are made one at a time, for any caller", async () => {
    await followSite(mooring, site);
    site.mode = { kind: "slow", ms: 20 };
    await Promise.all([
      mooring.save("site_title", "a"),
      service().check("one"),
      service().compare("one"),
      service().adopt("one", { ...ALL, dryRun: true }, ORIGIN),
      mooring.save("robots_txt", "b"),
      service().check("one"),
    ]);
    await soon(() => state().appliedRevision).toBe(service().revision());
    expect(site.mostAtOnce()).toBe(1);
  });

  test("have one Client-Id, so that a limit of devices ends no other session", async () => {
    await another({ manner: "alist", maxDevices: 1 });
    await followSite(mooring, site);
    await mooring.save("site_title", "by one device");
    await soon(() => site.value("site_title")).toBe("by one device");
    const ids = site.seen.map(({ headers }) => headers["client-id"]);
    expect(new Set(ids)).toEqual(new Set(["mooring"]));
  });

  test("that exceed the limit of devices fail with the site's message, and stop everything", async () => {
    await another({ manner: "alist", maxDevices: 1 });
    await fetch(`${site.url}/api/me`, { headers: { authorization: site.token() } });
    await expect(add()).rejects.toThrow("403: too many active devices");
  });

  test("to a wrong path with force_https are reported with the redirect's target", async () => {
    await another({ forceHttps: true });
    await add();
    await service().delete("one", ORIGIN);
    const wrong = { name: "one", url: `${site.url}/sub`, token: site.token() };
    await expect(service().create(wrong, ORIGIN)).rejects.toThrow(/redirects to https:\/\/127/);
  });
});

test.each([
  [{ manner: "openlist" }, "openlist"],
  [{ manner: "openlist", version: "v4.0.9" }, "openlist"],
  [{ manner: "alist" }, "alist"],
] as const)("the kind of a site follows from its token and version: %j", async (options, kind) => {
  await another(options);
  expect((await add()).state.kind).toBe(kind);
});

test("a site with any other version is of unknown kind, and followed", async () => {
  site.put("token", "a-token-of-somebodys-own");
  site.put("version", "dev");
  await followSite(mooring, site);
  expect(state()).toMatchObject({ kind: "unknown", version: "dev" });
  await mooring.save("site_title", "there");
  await soon(() => site.value("site_title")).toBe("there");
});
