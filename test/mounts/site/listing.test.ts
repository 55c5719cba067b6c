import { expect, test } from "vitest";
import { createLister, type Listed } from "../../../src/mounts/site/listing.ts";
import type { StorageRow } from "../../../src/mounts/site/row.ts";
import type { Site } from "../../../src/sites/site.ts";
import type { SiteClient } from "../../../src/sync/client.ts";
import { driverByName } from "./desk.ts";

const site = { id: "s", name: "one" } as Site;
const row = (id: number): StorageRow => ({
  id,
  mount_path: `/${id}`,
  driver: "PikPak",
  status: "work",
  disabled: false,
  addition: JSON.stringify({ username: "u", password: `password ${id}` }),
});

/** A lister whose listings end on request. */
function open() {
  const calls: string[] = [];
  const ends: (() => void)[] = [];
  const call: SiteClient["call"] = (_method, _path, body) => {
    calls.push((body as { path: string }).path);
    return new Promise((resolve) => ends.push(() => resolve({ content: [], total: 0 })));
  };
  const lister = createLister({ driverOf: driverByName, clientOf: () => ({ call }) });
  const list = (id: number, signal?: AbortSignal): Promise<Listed | undefined> =>
    lister.list(site, row(id), [], undefined, signal);
  return { calls, ends, list };
}

test("a waiting listing ends with its caller, and the next one takes its place", async () => {
  const { calls, ends, list } = open();
  const running = [1, 2, 3, 4].map((id) => list(id));
  const leaving = new AbortController();
  const left = list(5, leaving.signal);
  const next = list(6);
  leaving.abort();
  expect(await left).toBeUndefined();
  expect(await list(7, AbortSignal.abort())).toBeUndefined();
  ends[0]?.();
  await running[0];
  await expect.poll(() => calls).toEqual(["/1", "/2", "/3", "/4", "/6"]);
  for (const end of ends) end();
  expect((await Promise.all([...running, next])).map((listed) => listed?.outcome)).toEqual(
    Array(5).fill("works"),
  );
});

test("beyond 2,000 waiting listings, further ones are not made", async () => {
  const { list } = open();
  const leaving = new AbortController();
  const waiting = Array.from({ length: 2_004 }, (_, id) => list(id, leaving.signal));
  expect(await list(9_999)).toMatchObject({ outcome: "unknown" });
  leaving.abort();
  const ended = await Promise.all(waiting.slice(4));
  expect(ended.every((listed) => listed === undefined)).toBe(true);
  const again = list(9_999, AbortSignal.timeout(1));
  expect(await again).toBeUndefined();
});
