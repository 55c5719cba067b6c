import { expect, test } from "vitest";
import { dateOf } from "../../../src/incidents/days/day.ts";
import type { ListedMount } from "../../../src/incidents/days/recorded-site.ts";
import { DayRecorder } from "../../../src/incidents/days/recorder.ts";
import { createDayService } from "../../../src/incidents/days/service.ts";
import type { DayStore } from "../../../src/incidents/days/store.ts";
import type { Site } from "../../../src/sites/site.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { startedForEach } from "../../started.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { storedSite } from "../../store/site-contract.ts";

const newPath = temporaryPaths();
const store = startedForEach(() => openSqliteStore(newPath()));
const MINUTE = 60_000;
const site = { id: "s", name: "home" } as Site;

/** Mounts by path: their state, or the error of one that fails. */
type Mounts = Readonly<Record<string, "works" | "disabled" | "starts" | (string & {})>>;

function listedOf(mounts: Mounts, rows: Readonly<Record<string, number>>): ListedMount[] {
  const states = { works: "works", disabled: "unmonitored", starts: undefined } as const;
  return Object.entries(mounts).map(([path, text], at) => ({
    path,
    rowId: rows[path] ?? at + 1,
    state: text in states ? states[text as keyof typeof states] : "fails",
    reason: () => text,
  }));
}

/** A process that observes one site once a minute, from 2026-11-20 12:00 UTC on. */
async function start(begin = "2026-11-20T12:00:00Z") {
  const clock = { now: Date.parse(begin) };
  await store.sites.insert(storedSite("s", { name: "home" }), []);
  const written = { rows: 0 };
  const days: DayStore = {
    ...store.incidents.days,
    write: (writes) => {
      written.rows += writes.changes.length + writes.spans.length + writes.sites.length;
      return store.incidents.days.write(writes);
    },
  };
  let recorder: DayRecorder | undefined;
  const service = createDayService({
    store: store.incidents.days,
    sites: { sites: () => [site] },
    now: () => clock.now,
  });
  return {
    clock,
    written,
    /** Observes the site each minute, the first time at once. */
    run: async (
      minutes: number,
      {
        state = "works" as "works" | "fails" | "unmonitored",
        reason = "",
        mounts = {} as Mounts,
        rows = {},
      } = {},
    ) => {
      if (recorder === undefined) {
        recorder = new DayRecorder({ store: days, now: () => clock.now });
        await recorder.load();
      }
      for (let minute = 0; minute <= minutes; minute += 1) {
        if (minute > 0) clock.now += MINUTE;
        recorder.observe(site.id, { state, reason });
        if (state === "works") await recorder.listed(site.id, listedOf(mounts, rows));
        await recorder.store();
      }
    },
    /** Ends the process, as a power cut does. */
    stop: () => {
      recorder = undefined;
    },
    forget: () => recorder?.forget(() => true),
    service,
    /** Minutes by day: worked, failed and unmonitored; without days that are unmonitored as a whole. */
    strip: async (path = "") => {
      const strips = await service.list({ failed: false, limit: 1_000 });
      const strip = strips.find((each) => each.path === path);
      const minutes = (seconds: number): number => Math.round(seconds / 60);
      return strip?.days
        .filter(({ worked, failed }) => worked + failed > 0)
        .map(({ day, worked, failed, unmonitored, reason }) =>
          [dateOf(day).slice(5), minutes(worked), minutes(failed), minutes(unmonitored), reason]
            .join(" ")
            .trim(),
        );
    },
  };
}

test("a site that works, fails and works again has both times and the reason on its day", async () => {
  const { run, strip } = await start();
  await run(60);
  await run(30, { state: "fails", reason: "no answer" });
  await run(30, { state: "fails", reason: "another" });
  await run(60);
  expect(await strip()).toEqual(["11-20 120 60 720 no answer"]);
});

test("the time of a state is divided at midnight UTC", async () => {
  const { run, strip } = await start("2026-11-20T23:00:00Z");
  const failing = { mounts: { "/a": "no space" } };
  await run(30, { mounts: { "/a": "works" } });
  await run(60, failing);
  expect(await strip()).toEqual(["11-20 60 0 1380", "11-21 30 0 0"]);
  expect(await strip("/a")).toEqual(["11-20 30 30 1380 no space", "11-21 0 30 0 no space"]);
});

test("a state that lasts for days is written once a day, and has its time on each day", async () => {
  const { run, strip, written } = await start("2026-11-20T22:00:00Z");
  await run(10, { mounts: { "/a": "gone away", "/b": "works", "/c": "disabled" } });
  written.rows = 0;
  await run(2 * 1_440, { mounts: { "/a": "gone away", "/b": "works", "/c": "disabled" } });
  // The site each minute; at each midnight its two days, and two rows of a mount that does not work.
  expect(written.rows).toBeLessThanOrEqual(2 * 1_440 + 2 * (1 + 2 * 2));
  const failed = ["11-20 0 120 1320 gone away", "11-21 0 1440 0 gone away"];
  expect(await strip("/a")).toEqual([...failed, "11-22 0 1330 0 gone away"]);
  expect(await strip("/b")).toEqual(["11-20 120 0 1320", "11-21 1440 0 0", "11-22 1330 0 0"]);
  expect(await strip("/c")).toEqual([]);
  await run(0, { mounts: { "/a": "works", "/b": "works", "/c": "works" } });
  await run(60, { mounts: { "/a": "works", "/b": "works", "/c": "works" } });
  expect(await strip("/a")).toEqual([...failed, "11-22 60 1330 0 gone away"]);
  expect(await strip("/c")).toEqual(["11-22 60 0 1330"]);
});

test("time without monitoring is not counted: off, site away, paused, disabled, starting", async () => {
  const { clock, run, stop, strip } = await start();
  await run(10, { mounts: { "/a": "works", "/b": "bad" } });
  stop();
  clock.now += 60 * MINUTE;
  await run(10, { mounts: { "/a": "works", "/b": "bad" } });
  await run(10, { state: "fails", reason: "down" });
  await run(10, { mounts: { "/a": "works", "/b": "bad" } });
  await run(10, { state: "unmonitored" });
  await run(10, { mounts: { "/a": "disabled", "/b": "bad" } });
  await run(10, { mounts: { "/a": "starts", "/b": "bad" } });
  const noon = 720;
  expect(await strip()).toEqual([`11-20 50 10 ${noon + 70} down`]);
  expect(await strip("/a")).toEqual([`11-20 30 0 ${noon + 100}`]);
  expect(await strip("/b")).toEqual([`11-20 0 50 ${noon + 80} bad`]);
});

test.each([
  ["forward by an hour", 60, ["11-20 20 0 780"]],
  ["back by five minutes: no time counts twice", -5, ["11-20 15 0 720"]],
  ["back by an hour", -60, ["11-20 10 0 720"]],
  ["forward by three days", 3 * 1_440, ["11-20 10 0 1430", "11-23 10 0 720"]],
])("a clock that is set %s neither invents time nor loses the strip", async (_, minutes, days) => {
  const { clock, run, strip } = await start();
  await run(10, { mounts: { "/a": "works" } });
  clock.now += minutes * MINUTE;
  await run(10, { mounts: { "/a": "works" } });
  const shown = (await strip()) ?? [];
  // The time that has passed by the clock, and the time that was counted before it was set back.
  expect(shown.map((day) => day.split(" ").slice(0, 3).join(" "))).toEqual(
    days.map((day) => day.split(" ").slice(0, 3).join(" ")),
  );
  expect(await strip("/a")).toEqual(shown);
});

test.each([
  ["years ahead", 3 * 365 * 1_440],
  ["at 1970", -Date.parse("2026-11-20T12:20:00Z") / MINUTE],
])(
  "a clock that was %s for some minutes changes no day but the present one",
  async (_, minutes) => {
    const { clock, run, forget, strip, service } = await start("2026-11-18T12:00:00Z");
    await run(1_440, { mounts: { "/a": "works", "/b": "bad" } });
    await run(1_450, { mounts: { "/a": "works", "/b": "works" } });
    const before = [await strip(), await strip("/a"), await strip("/b")];
    expect(before[2]).toEqual(["11-18 0 720 720 bad", "11-19 720 720 0 bad", "11-20 730 0 0"]);
    const right = clock.now;
    clock.now += minutes * MINUTE;
    await forget();
    await run(10, { mounts: { "/a": "works", "/b": "bad", "/c": "works", "/d": "disabled" } });
    await forget();
    clock.now = right;
    await run(0, { mounts: { "/a": "works", "/b": "works", "/c": "works", "/d": "works" } });
    await forget();
    expect([await strip(), await strip("/a"), await strip("/b")]).toEqual(before);
    await run(10, { mounts: { "/a": "works", "/b": "works", "/c": "works", "/d": "bad" } });
    expect((await strip("/a"))?.at(-1)).toBe("11-20 740 0 0");
    expect((await strip("/d"))?.at(-1)).toContain("10");
    const days = (await service.list({ failed: false, limit: 10 }))[0]?.days ?? [];
    expect(days).toHaveLength(30);
    expect(dateOf(days.at(-1)?.day ?? 0)).toBe("2026-11-20");
  },
);

test("a mount whose path changes keeps its days; one that is no longer listed loses them the next day", async () => {
  const { run, forget, strip } = await start();
  const rows = { "/a": 7, "/b": 8, "/films": 7 };
  await run(10, { mounts: { "/a": "bad", "/b": "works" }, rows });
  await run(10, { mounts: { "/films": "works", "/b": "works" }, rows });
  expect(await strip("/a")).toBeUndefined();
  expect(await strip("/films")).toEqual(["11-20 10 10 720 bad"]);
  await run(10, { mounts: { "/films": "works" }, rows });
  expect(await strip("/b")).toBeUndefined();
  await run(10, { mounts: { "/films": "works", "/b": "works" }, rows });
  expect(await strip("/b")).toEqual(["11-20 30 0 730"]);
  await run(10, { mounts: { "/films": "works" }, rows });
  await run(720, { mounts: { "/films": "works" }, rows });
  await forget();
  await run(1, { mounts: { "/films": "works" }, rows });
  expect(await store.incidents.days.mountDays("s", ["/b"])).toEqual([]);
  await run(10, { mounts: { "/films": "works", "/b": "works" }, rows });
  expect(await strip("/b")).toEqual(["11-21 10 0 51"]);
});

test("processes that have the lease in turn count each minute once", async () => {
  const clock = { now: Date.parse("2026-11-20T12:00:00Z") };
  const processes = [0, 1].map(
    () => new DayRecorder({ store: store.incidents.days, now: () => clock.now }),
  );
  for (const [turn, at] of [0, 1, 0, 1].entries()) {
    const recorder = processes[at] as DayRecorder;
    await recorder.load();
    // The mount fails in the first and in the last turn.
    const mounts: Mounts = { "/a": turn === 0 || turn === 3 ? "bad" : "works" };
    for (let minute = 0; minute <= 10; minute += 1) {
      if (minute > 0) clock.now += MINUTE;
      recorder.observe("s", { state: "works", reason: "" });
      await recorder.listed("s", listedOf(mounts, {}));
      await recorder.store();
    }
  }
  expect(await store.incidents.days.siteDays()).toMatchObject([{ worked: 40 * MINUTE }]);
  expect(await store.incidents.days.mountDays("s", ["/a"])).toMatchObject([
    { failed: 10 * MINUTE },
  ]);
  expect(await store.incidents.days.allSpans()).toMatchObject([
    { state: "fails", began: 30 * MINUTE },
  ]);
});

test("a failure of the database loses no time", async () => {
  const clock = { now: Date.parse("2026-11-20T12:00:00Z") };
  let fails = true;
  const recorder = new DayRecorder({
    now: () => clock.now,
    store: {
      ...store.incidents.days,
      write: async (writes) => {
        if (fails) throw new Error("the disk is full");
        await store.incidents.days.write(writes);
      },
    },
  });
  await recorder.load();
  for (const text of ["works", "bad", "works"])
    for (let minute = 0; minute < 2; minute += 1) {
      recorder.observe("s", { state: "works", reason: "" });
      await recorder.listed("s", listedOf({ "/a": text }, {}));
      await expect(recorder.store()).rejects.toThrow("the disk is full");
      clock.now += MINUTE;
    }
  fails = false;
  recorder.observe("s", { state: "works", reason: "" });
  await recorder.store();
  expect(await store.incidents.days.siteDays()).toMatchObject([{ worked: 6 * MINUTE }]);
  expect(await store.incidents.days.mountDays("s", ["/a"])).toMatchObject([
    { failed: 2 * MINUTE, unmonitored: 0, reason: "bad" },
  ]);
});

test("a site keeps its newest 40 days, and a removed one keeps nothing", async () => {
  const { clock, run, forget } = await start();
  for (let day = 0; day < 45; day += 1) {
    await run(2, { mounts: { "/a": "bad", "/b": "works" } });
    clock.now += 1_438 * MINUTE;
  }
  await forget();
  await run(1, { mounts: { "/a": "bad", "/b": "works" } });
  expect(await store.incidents.days.siteDays()).toHaveLength(41);
  const days = await store.incidents.days.mountDays("s", ["/a", "/b"]);
  expect(days.length).toBeGreaterThan(30);
  expect(days.length).toBeLessThanOrEqual(41);
  await store.sites.delete("s", []);
  expect(await store.incidents.days.siteDays()).toEqual([]);
  expect(await store.incidents.days.allSpans()).toEqual([]);
  expect(await store.incidents.days.mountDays("s", ["/a", "/b"])).toEqual([]);
  // A process without the state in memory writes once more.
  await run(2, { mounts: { "/a": "bad" } });
  await store.incidents.days.forgetSites();
  expect(await store.incidents.days.allSpans()).toEqual([]);
});

test("10,000 mounts are written once, and a change of one is a few rows", async () => {
  const { run, written } = await start();
  const mounts = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, at) => [`/m${at}`, "works"]),
  );
  await run(1, { mounts });
  expect(written.rows).toBeLessThanOrEqual(10_000 + 2);
  written.rows = 0;
  await run(5, { mounts });
  expect(written.rows).toBeLessThanOrEqual(6);
  written.rows = 0;
  await run(1, { mounts: { ...mounts, "/m7": "bad" } });
  await run(1, { mounts });
  // The span at each of both changes, the ended day, and the site each minute.
  expect(written.rows).toBeLessThanOrEqual(3 + 4);
});

test("a server with other mounts in each list leaves no more than 10,000 of them", async () => {
  const { run } = await start();
  for (let list = 0; list < 2; list += 1) {
    const paths = Array.from({ length: 6_000 }, (_, at) => [`/${list}/${at}`, "bad"] as const);
    const rows = Object.fromEntries(paths.map(([path], at) => [path, list * 6_000 + at]));
    await run(0, { mounts: Object.fromEntries(paths), rows });
    await run(1, { mounts: Object.fromEntries(paths), rows });
  }
  const kept = await store.incidents.days.allSpans();
  expect(kept).toHaveLength(10_000);
  // The mounts that went first are forgotten first, with their days.
  expect(Map.groupBy(kept, ({ path }) => path.slice(0, 3))).toMatchObject(
    new Map([
      ["/0/", expect.objectContaining({ length: 4_000 })],
      ["/1/", expect.objectContaining({ length: 6_000 })],
    ]),
  );
  expect(await store.incidents.days.mountDays("s", ["/0/0", "/0/1999"])).toEqual([]);
});

test("other work continues between the transactions that store many mounts", async () => {
  let writes = 0;
  let turns = 0;
  const recorder = new DayRecorder({
    now: () => Date.parse("2026-11-20T12:00:00Z"),
    store: {
      ...store.incidents.days,
      write: async () => {
        writes += 1;
      },
    },
  });
  const mounts = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`/m${at}`, "bad"]));
  await recorder.listed("s", listedOf(mounts, {}));
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await recorder.store();
  clearImmediate(next);
  expect(writes).toBe(10);
  expect(turns).toBeGreaterThanOrEqual(writes - 1);
});
