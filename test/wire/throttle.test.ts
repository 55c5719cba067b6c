import { describe, expect, test } from "vitest";
import { createThrottle, networkOf } from "../../src/access/throttle.ts";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "./service.ts";

describe("the throttle key of an address", () => {
  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["1::3:4:5:6:192.0.2.1", "1:0:3:4::/64"],
    ["1:2:3::5:6:7:8", "1:2:3:0::/64"],
    ["2001:db8::", "2001:db8:0:0::/64"],
    ["", ""],
  ])("of %s is %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe("wrong tokens", () => {
  test("twice the rate at once, then the rate; each peer separately", () => {
    let time = 0;
    const throttle = createThrottle({ perMinute: 10, now: () => time });
    const tries = (peer: string, count: number): number =>
      Array.from({ length: count }, () => throttle.wrong(peer)).filter((wait) => wait === 0).length;
    expect(tries("192.0.2.1", 30)).toBe(20);
    expect(throttle.wrong("192.0.2.1")).toBe(6);
    expect(tries("192.0.2.2", 1)).toBe(1);
    expect(tries("2001:db8::1", 15) + tries("2001:db8::ffff", 15)).toBe(20);
    time += 60_000;
    expect(tries("192.0.2.1", 30)).toBe(10);
  });

  test("all peers together have a limit, and so has their memory", () => {
    const throttle = createThrottle({ perMinute: 1, now: () => 0, peers: 100 });
    const answered = Array.from({ length: 5_000 }, (_, index) =>
      throttle.wrong(`10.0.${index >> 8}.${index & 255}`),
    ).filter((wait) => wait === 0);
    expect(answered).toHaveLength(200);
    expect(throttle.size).toBe(100);
  });

  test("0 is no limit", () => {
    const throttle = createThrottle({ perMinute: 0 });
    for (let index = 0; index < 1_000; index += 1) expect(throttle.wrong("192.0.2.1")).toBe(0);
    expect(throttle.size).toBe(0);
  });
});

describe("a service with such a limit", () => {
  const service = startedForAll(() =>
    startService({
      env: {
        MOORING_WRONG_TOKENS: "2",
        MOORING_TRUSTED_PROXIES: "127.0.0.1",
        MOORING_LOG_LEVEL: "info",
        MOORING_HTTP_STATUS: "code",
      },
    }),
  );

  const list = (authorization: string, peer: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${service.port}/api/admin/setting/list`, {
      headers: { authorization, "x-forwarded-for": peer },
    });

  test("delays that client, and still accepts its right token", async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 6; index += 1)
      statuses.push((await list("wrong", "192.0.2.1")).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
    const refused = await list("wrong", "192.0.2.1");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.text()).toContain("too many failed attempts");
    expect((await list(TOKEN, "192.0.2.1")).status).toBe(200);
    expect((await list("", "192.0.2.1")).status).toBe(401);
    expect((await list("wrong", "192.0.2.2")).status).toBe(401);
  });

  test("has the same limit over gRPC and Connect", async () => {
    const reply = await fetch(
      `http://127.0.0.1:${service.port}/mooring.v1.SettingService/ListSettings`,
      {
        method: "POST",
        headers: {
          authorization: "wrong",
          "content-type": "application/json",
          "x-forwarded-for": "192.0.2.1",
        },
        body: "{}",
      },
    );
    expect(reply.status).toBe(429);
    expect(reply.headers.get("retry-after")).not.toBeNull();
    expect(await reply.json()).toMatchObject({ code: "resource_exhausted" });
  });
});
