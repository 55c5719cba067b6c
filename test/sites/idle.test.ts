import { beforeEach, expect, test } from "vitest";
import { ORIGIN, startFollower } from "./follower.ts";
import { following, mooring, service, soon, useOneSite } from "./one-site.ts";

let queries: string[] = [];
const onQuery = (name: string): void => void queries.push(name);

useOneSite({ times: { read: 600_000, reread: 600_000 }, onQuery });
beforeEach(following);

const count = (name: string): number => queries.filter((each) => each === name).length;

test("an idle beat reads only the version, and renews the lease at its time", async () => {
  await soon(() => mooring.sites.settings.isDue(mooring.sites.registry.byName("one"))).toBe(false);
  const begun = count("version");
  await soon(() => count("version")).toBeGreaterThan(begun + 3);
  queries = [];
  await soon(() => count("version")).toBeGreaterThan(10);
  expect(new Set(queries.filter((name) => name !== "lease"))).toEqual(new Set(["version"]));
  expect(count("lease")).toBeLessThan(count("version"));
});

test("changes of another process are read on the next beat", async () => {
  const other = await startFollower({ folder: mooring.folder });
  await other.sites.service.update("one", { paused: true }, ORIGIN);
  await soon(() => service().get("one").site.paused).toBe(true);
  await other.close();
});
