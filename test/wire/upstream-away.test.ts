import { expect, test } from "vitest";
import { startedForEach } from "../started.ts";
import { startFront } from "./upstream.ts";

const front = startedForEach(startFront);

const ready = async () => (await front.call("GET", "/@mooring/readyz?verbose")).text;

test("readyz reports a failing upstream from the first request after its stop", async () => {
  expect(await ready()).toContain("[+] sites: ok (1: 1 ok)");
  expect(await ready()).toContain("[+] upstream: ok");
  await front.site.stop();
  expect(await ready()).toContain("[+] sites: ok (1: 1 failing");
  const { status, text } = await front.call("GET", "/@mooring/readyz");
  expect(status).toBe(200);
  expect(text).toMatch(/^\[!\] upstream: the upstream does not answer$/m);
  expect(text).toMatch(/ok, degraded\n$/);
});

test("one request that could not be passed on marks the upstream as down", async () => {
  await front.site.stop();
  expect((await front.call("GET", "/")).status).toBe(502);
  const list = () => front.service.mooring.gauges().sites.map(({ up }) => up);
  await expect.poll(list).toEqual([false]);
});

test("readyz requests only the public settings of an upstream", async () => {
  const lists = front.site.count("GET /api/admin/setting/list");
  await Promise.all([ready(), ready(), ready()]);
  expect(front.site.count("GET /api/admin/setting/list")).toBe(lists);
  expect(front.site.count("GET /api/public/settings")).toBeLessThanOrEqual(3);
});
