import { expect, test } from "vitest";

import { opened } from "../../../store/postgres/opened.ts";
import { serverOfFile } from "../../../store/postgres/server.ts";

const server = serverOfFile();

const DAY = 86_400_000;

test("instances whose clocks differ by days acquire job slots and leases like those with equal clocks", async () => {
  const url = await server().newDatabase();
  const clocks = [() => Date.now(), () => Date.now() + 2 * DAY, () => Date.now() - 2 * DAY];
  const instances = await Promise.all(
    clocks.map(async (now) => ({ now, ...(await opened(url, now)) })),
  );
  const [first, ...others] = instances;
  const acquire = (one = first) => one?.store.tryAcquireJobSlot("upkeep", DAY, one.now());
  expect(await acquire()).toBe(true);
  for (const one of others) expect(await acquire(one)).toBe(false);
  expect(await acquire()).toBe(false);
  const lease = (one = first, ttl = DAY) => {
    const at = instances.indexOf(one as (typeof instances)[number]);
    return one?.store.sites.lease("sites", String(at), one.now(), ttl);
  };
  expect(await lease()).toBe(true);
  for (const one of others) expect(await lease(one)).toBe(false);
  expect(await lease(first, 1)).toBe(true);
  const [next] = others;
  await expect.poll(() => lease(next)).toBe(true);
  expect(await lease()).toBe(false);
});
