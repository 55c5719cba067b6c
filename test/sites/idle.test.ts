import { afterEach, beforeEach, expect, test } from "vitest";
import { type Follower, followSite, ORIGIN, startFollower } from "./follower.ts";
import { type StandIn, startStandIn } from "./stand-in.ts";

const soon = <T>(look: () => T) => expect.poll(look);

let mooring: Follower;
let site: StandIn;
let queries: string[];

beforeEach(async () => {
  queries = [];
  const times = { look: 600_000, lookAgain: 600_000 };
  const onQuery = (name: string): void => void queries.push(name);
  [mooring, site] = await Promise.all([startFollower({ times, onQuery }), startStandIn()]);
});

afterEach(async () => {
  await mooring.close();
  await site.stop();
});

const count = (name: string): number => queries.filter((each) => each === name).length;

test("an idle beat reads only the version, and renews the lease at its time", async () => {
  await followSite(mooring, site);
  await soon(() => mooring.sites.workers.isDue(mooring.sites.registry.byName("one"))).toBe(false);
  const begun = count("version");
  await soon(() => count("version")).toBeGreaterThan(begun + 3);
  queries = [];
  await soon(() => count("version")).toBeGreaterThan(10);
  expect(new Set(queries.filter((name) => name !== "lease"))).toEqual(new Set(["version"]));
  expect(count("lease")).toBeLessThan(count("version"));
});

test("changes of another process are read on the next beat", async () => {
  await followSite(mooring, site);
  const other = await startFollower({ folder: mooring.folder });
  await other.sites.service.update("one", { paused: true }, ORIGIN);
  await soon(() => mooring.sites.service.get("one").site.paused).toBe(true);
  await other.close();
});
