import { beforeEach, describe, expect, test } from "vitest";
import { ALL, ORIGIN } from "./follower.ts";
import {
  add,
  another,
  anotherFollower,
  following,
  mooring,
  service,
  site,
  soon,
  state,
  upToDate,
  useOneSite,
} from "./one-site.ts";

useOneSite();

/** Time of the follower's clock, in milliseconds. */
let time: number;

beforeEach(() => {
  time = Date.now();
});

describe("a site that does not answer", () => {
  test("has an unknown state while it hangs, and is followed again when it answers", async () => {
    await anotherFollower({ times: { call: 1_500 } });
    await following();
    site.mode = { kind: "hang" };
    await mooring.save("site_title", "later");
    await soon(() => state().error?.kind).toBe("silent");
    expect(String(state().error?.message)).toContain("storages may still be loading");
    expect(site.saves).toEqual([]);
    site.mode = undefined;
    await soon(() => site.value("site_title")).toBe("later");
    await soon(() => state().error).toBeUndefined();
  });

  test("is tried again after 1 s, 2 s, 4 s … up to a minute, with jitter of up to a half", async () => {
    await anotherFollower({ now: () => time });
    await following();
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
    await anotherFollower({ now: () => time });
    await following();
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
    await following();
    await site.restart();
    await mooring.save("site_title", "after the restart");
    await soon(() => site.value("site_title")).toBe("after the restart");
  });

  test("is corrected after a save that is stored after its time-out", async () => {
    await anotherFollower({ times: { call: 1_500 } });
    await following();
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

describe("calls to a site", () => {
  test("are made one at a time, for any caller", async () => {
    await following();
    site.mode = { kind: "slow", ms: 20 };
    await Promise.all([
      mooring.save("site_title", "a"),
      service().check("one"),
      service().compare("one"),
      service().adopt("one", { ...ALL, dryRun: true }, ORIGIN),
      mooring.save("robots_txt", "b"),
      service().check("one"),
    ]);
    await upToDate();
    expect(site.mostAtOnce()).toBe(1);
  });

  test("have one Client-Id, so that a limit of devices ends no other session", async () => {
    await another({ manner: "alist", maxDevices: 1 });
    await following();
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
