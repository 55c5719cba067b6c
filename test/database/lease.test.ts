import { beforeEach, expect, onTestFinished, test } from "vitest";
import { createLease, type Lease } from "../../src/database/lease.ts";
import type { SiteStore } from "../../src/sites/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../store/folder.ts";

const newPath = temporaryPaths();

let time: number;
/** Effect of the store in place of the database's reply. */
let answer: () => Promise<boolean> | undefined;
let requests: number;

beforeEach(() => {
  time = 1_000_000;
  answer = () => undefined;
  requests = 0;
});

async function leasesOf(...holders: string[]): Promise<Lease[]> {
  const { sites, close } = await openSqliteStore(newPath());
  onTestFinished(close);
  const store: Pick<SiteStore, "lease" | "release"> = {
    lease: (...args) => {
      requests += 1;
      return answer() ?? sites.lease(...args);
    },
    release: sites.release,
  };
  return holders.map((holder) => createLease(store, { name: "sites", holder, now: () => time }));
}

test("a lease that cannot be renewed is held for 5 s, one second less than other processes respect it", async () => {
  const [one, two] = (await leasesOf("one", "two")) as [Lease, Lease];
  await one.renew();
  answer = () => Promise.reject(new Error("the database is away"));
  time += 2_000;
  await expect(one.renew()).rejects.toThrow("away");
  answer = () => undefined;
  time += 2_999;
  expect(one.isHeld()).toBe(true);
  time += 1;
  expect(one.isHeld()).toBe(false);
  // Only after the full 6 s.
  await two.renew();
  expect(two.isHeld()).toBe(false);
  time += 2_000;
  await two.renew();
  expect([one.isHeld(), two.isHeld()]).toEqual([false, true]);
});

test("a lease is renewed every 2 s, counted from the request to the database", async () => {
  const [one] = (await leasesOf("one")) as [Lease];
  const slow = Promise.withResolvers<boolean>();
  answer = () => slow.promise;
  const renewal = one.renew();
  time += 4_000;
  slow.resolve(true);
  await renewal;
  expect(one.isHeld()).toBe(true);
  time += 1_000;
  expect(one.isHeld()).toBe(false);
  answer = () => undefined;
  await one.renew();
  time += 1_999;
  await one.renew();
  expect(requests).toBe(2);
  time += 1;
  await one.renew();
  expect(requests).toBe(3);
});

test("a lease that another process has acquired, or that was released, is not held", async () => {
  const [one, two] = (await leasesOf("one", "two")) as [Lease, Lease];
  await one.renew();
  await two.renew();
  expect([one.isHeld(), two.isHeld()]).toEqual([true, false]);
  await one.release();
  expect(one.isHeld()).toBe(false);
  time += 2_000;
  await two.renew();
  await one.renew();
  expect([one.isHeld(), two.isHeld()]).toEqual([false, true]);
});

test("after the clock was set back, one process holds the lease and renews it", async () => {
  const [one, two] = (await leasesOf("one", "two")) as [Lease, Lease];
  time += 86_400_000;
  await one.renew();
  expect(one.isHeld()).toBe(true);
  time -= 86_400_000;
  // Its expiry is tomorrow, which no other process respects.
  expect(one.isHeld()).toBe(false);
  await one.renew();
  await two.renew();
  expect([one.isHeld(), two.isHeld()]).toEqual([true, false]);
  time += 2_000;
  await one.renew();
  time += 4_500;
  expect(one.isHeld()).toBe(true);
});
