import { afterEach, beforeEach, expect, test } from "vitest";
import { type Follower, followSite, startFollower } from "./follower.ts";
import { type StandIn, startStandIn } from "./stand-in.ts";

const soon = <T>(look: () => T) => expect.poll(look);

/** More than the limit of concurrent sites. */
const SITES = 40;

let mooring: Follower;
let sites: StandIn[];

beforeEach(async () => {
  mooring = await startFollower({ times: { read: 60_000, reread: 60_000 } });
  sites = await Promise.all(Array.from({ length: SITES }, () => startStandIn()));
  await Promise.all(sites.map((site, at) => followSite(mooring, site, `site-${at}`)));
}, 60_000);

afterEach(async () => {
  await mooring.close();
  await Promise.all(sites.map((site) => site.stop()));
});

test("32 sites are called at one time at most; the others follow", async () => {
  const release = Promise.withResolvers<void>();
  for (const site of sites) site.hold = (stage) => (stage === "list" ? release.promise : undefined);
  const active = () => sites.filter((site) => site.active() > 0).length;
  await mooring.save("site_title", "everywhere");
  await soon(active).toBe(32);
  // All slots are in use: no further site gets through.
  await mooring.save("site_title", "really everywhere");
  await soon(() => mooring.sites.service.revision()).toBeGreaterThan(1);
  expect(active()).toBe(32);
  release.resolve();
  const titles = () => new Set(sites.map((site) => site.value("site_title")));
  await soon(titles).toEqual(new Set(["really everywhere"]));
  expect(Math.max(...sites.map((site) => site.mostAtOnce()))).toBe(1);
});
