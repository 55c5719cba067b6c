import { afterEach, expect, test } from "vitest";
import { type Follower, type FollowerOptions, ORIGIN, startFollower } from "./follower.ts";
import {
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

/** Further processes on the same database. */
let others: Follower[] = [];

afterEach(async () => {
  for (const other of others) await other.close();
  others = [];
});

async function secondProcess(times: FollowerOptions["times"] = {}): Promise<Follower> {
  const second = await startFollower({ folder: mooring.folder, times });
  others.push(second);
  return second;
}

test("a save is pushed promptly, as the site's own row with another value, and nothing else is sent", async () => {
  await following();
  const row = { ...site.settings.rows.get("site_title") };
  await mooring.save("site_title", "from Mooring");
  await soon(() => site.value("site_title")).toBe("from Mooring");
  expect(site.saves).toEqual([[{ ...row, value: "from Mooring" }]]);
  await upToDate();
  expect(mooring.events.at(-1)).toMatchObject({ action: "push", keys: ["site_title"] });
});

test("pushed values are read back, by group if there is one", async () => {
  await following();
  const lists = () => site.seen.map(({ url }) => url).filter((url) => url.includes("/list"));
  const from = lists().length;
  await mooring.save("site_title", "one group");
  await upToDate();
  expect(lists().slice(from)).toContain("/api/admin/setting/list?group=1");
  // A program of the operator saves a row without a group.
  site.hold = (stage) => {
    if (stage !== "stored") return;
    const row = site.settings.rows.get("site_title");
    if (row !== undefined) row.group = 0;
    site.hold = undefined;
  };
  await mooring.save("site_title", "in another group");
  await upToDate();
  expect([state().drift, state().refused]).toEqual([[], {}]);
});

test("many saves are coalesced", async () => {
  await following();
  const release = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  site.hold = (stage) => {
    if (stage !== "save") return undefined;
    reached.resolve();
    return release.promise;
  };
  await mooring.save("site_title", "title 0");
  await reached.promise;
  for (let at = 1; at <= 20; at += 1) await mooring.save("site_title", `title ${at}`);
  release.resolve();
  await soon(() => site.value("site_title")).toBe("title 20");
  expect(site.saves).toHaveLength(2);
});

test("a value that the site refuses is recorded and tried once, and the site is unchanged", async () => {
  await following();
  const before = site.value("search_index");
  await mooring.save("search_index", "meilisearch");
  await soon(() => Object.keys(state().refused)).toEqual(["search_index"]);
  expect(state().refused["search_index"]?.reason).toBe(
    "failed to execute hook on search_index: not support index: meilisearch",
  );
  // The old value was saved again, because a refusal leaves the search off.
  expect([site.value("search_index"), site.settings.engine]).toEqual([before, "none"]);
  const saves = site.saves.length;
  await service().check("one");
  await mooring.save("site_title", "another");
  await soon(() => site.value("site_title")).toBe("another");
  expect(site.saves.length).toBe(saves + 1);
  await mooring.save("search_index", "bleve");
  await soon(() => site.value("search_index")).toBe("bleve");
  await soon(() => state().refused).toEqual({});
});

test("drift is corrected and recorded", async () => {
  await following();
  site.put("site_title", "changed behind one's back");
  await soon(() => site.value("site_title")).toBe(mooring.value("site_title"));
  await soon(() => mooring.events.at(-1)?.action).toBe("correct");
  expect(mooring.events.at(-1)?.keys).toEqual(["site_title"]);
});

test("drift that a check finds is corrected promptly, and no check delays the next round", async () => {
  await anotherFollower({ times: { read: 60_000, reread: 300 } });
  await following();
  await mooring.save("site_title", "pushed");
  await upToDate();
  await service().check("one");
  site.put("site_title", "theirs");
  await soon(() => site.value("site_title")).toBe("pushed");
  await service().check("one");
  site.put("robots_txt", "theirs");
  await service().check("one");
  await soon(() => site.value("robots_txt")).toBe(mooring.value("robots_txt"));
});

test("a site with mode observe is listed, and not corrected", async () => {
  await following();
  await service().update("one", { mode: "observe" }, ORIGIN);
  site.put("site_title", "theirs");
  await soon(() => state().drift).toEqual(["site_title"]);
  expect(site.saves).toEqual([]);
});

test("settings that the site does not have are reported and never sent", async () => {
  site.settings.rows.delete("site_title");
  await following();
  await mooring.save("site_title", "unknown there");
  await mooring.save("robots_txt", "known there");
  await soon(() => site.value("robots_txt")).toBe("known there");
  expect(state().missing).toContain("site_title");
  expect(site.value("site_title")).toBeUndefined();
});

test("a restarted process continues, and pushes values saved in between", async () => {
  await following();
  const second = await secondProcess({ probe: 50, renewal: 50 });
  await site.stop();
  await mooring.save("site_title", "while it was down");
  await soon(() => state().error?.kind).toBe("unreachable");
  await mooring.sites.close();
  await site.start();
  await soon(() => site.value("site_title")).toBe("while it was down");
  expect(second.sites.sync.isLeader()).toBe(true);
});

test("of two processes one follows", async () => {
  await following();
  const second = await secondProcess();
  const leaders = () => [mooring, second].filter(({ sites }) => sites.sync.isLeader());
  await soon(() => leaders().length).toBe(1);
  const [leader] = leaders();
  await second.save("site_title", "saved at the other one");
  await soon(() => site.value("site_title")).toBe("saved at the other one");
  const other = leader === second ? mooring : second;
  const pushes = (of: Follower | undefined) =>
    of?.events.filter(({ action }) => action === "push").length;
  await soon(() => pushes(leader)).toBe(1);
  expect(pushes(other)).toBe(0);
});

test("a failure that was stored while the clock was ahead is tried again within a minute", async () => {
  let ahead = 0;
  await anotherFollower({ now: () => Date.now() + ahead, times: { probe: 1e9 } });
  await following();
  ahead = 86_400_000;
  await site.stop();
  await mooring.save("site_title", "while it was down");
  await soon(() => state().error?.kind).toBe("unreachable");
  ahead = 0;
  await site.start();
  await soon(() => site.value("site_title")).toBe("while it was down");
});
