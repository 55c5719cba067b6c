import { expect, test } from "vitest";
import type { MountDay, MountSpan } from "../../../src/incidents/days/mount-span.ts";
import type { SiteDay } from "../../../src/incidents/days/site-day.ts";
import type { DayChange, DayStore, DayWrites } from "../../../src/incidents/days/store.ts";
import { Message } from "../../../src/messages/message.ts";

const siteDay = (day: number, changes: Partial<SiteDay> = {}): SiteDay => ({
  siteId: "s",
  day,
  worked: 86_400_000,
  failed: 0,
  countedTo: 1_795_000_000_000,
  reason: "",
  ...changes,
});

const span = (path: string, changes: Partial<MountSpan> = {}): MountSpan => ({
  siteId: "s",
  path,
  firstDay: 1,
  firstAt: 2,
  state: "works",
  day: 3,
  began: 4,
  reason: "",
  ...changes,
});

const mountDay = (path: string, day: number, changes: Partial<MountDay> = {}): MountDay => ({
  siteId: "s",
  path,
  day,
  failed: 5,
  unmonitored: 0,
  reason: "bad",
  ...changes,
});

const add = (day: MountDay): DayChange => ({ kind: "add", day });

/** Tests of the days, inside the contract of the stores of incidents. */
export function testDayStore(storeOf: () => DayStore): void {
  const write = (writes: Partial<DayWrites>): Promise<void> =>
    storeOf().write({ changes: [], spans: [], sites: [], ...writes });
  const paths = async (filter: Partial<Parameters<DayStore["spans"]>[0]> = {}) =>
    (await storeOf().spans({ siteId: "s", after: "", limit: 10, ...filter })).map(
      ({ path }) => path,
    );

  test("days of sites and mounts are read as written, and replaced", async () => {
    const reason = new Message("SITE_IS_PAUSED", {});
    const failed = siteDay(2, { failed: 9, reason });
    await write({ sites: [siteDay(1), failed], spans: [span("/a"), span("/b")] });
    await write({ sites: [siteDay(1, { worked: 7 })], spans: [span("/a", { state: "fails" })] });
    const days = await storeOf().siteDays();
    expect(days).toHaveLength(2);
    expect(days).toEqual(expect.arrayContaining([siteDay(1, { worked: 7 }), failed]));
    expect(await storeOf().allSpans()).toEqual(
      expect.arrayContaining([span("/a", { state: "fails" }), span("/b")]),
    );
  });

  test("time is added to a day of a mount, which keeps its first reason", async () => {
    await write({
      changes: [
        add(mountDay("/a", 1, { failed: 0, unmonitored: 3, reason: "" })),
        add(mountDay("/a", 1)),
        add(mountDay("/a", 1, { reason: "later" })),
        add(mountDay("/a", 2)),
        add(mountDay("/b", 1)),
      ],
    });
    expect(await storeOf().mountDays("s", ["/a"])).toEqual([
      mountDay("/a", 1, { failed: 10, unmonitored: 3 }),
      mountDay("/a", 2),
    ]);
    expect(await storeOf().mountDays("t", ["/a"])).toEqual([]);
    expect(await storeOf().mountDays("s", [])).toEqual([]);
  });

  test("mounts are read by site, in pages, and those that have failed alone", async () => {
    await write({
      spans: [
        span("/a"),
        span("/b", { state: "gone" }),
        span("/c", { state: "fails" }),
        span("/d"),
        span("/e"),
        span("/f", { siteId: "t" }),
      ],
      changes: [
        add(mountDay("/b", 9)),
        add(mountDay("/d", 8)),
        add(mountDay("/e", 9)),
        add(mountDay("/a", 9, { failed: 0, unmonitored: 3 })),
        add(mountDay("/a", 9, { siteId: "t" })),
      ],
    });
    expect(await paths()).toEqual(["/a", "/c", "/d", "/e"]);
    expect(await paths({ siteId: "t" })).toEqual(["/f"]);
    expect(await paths({ after: "/a", limit: 2 })).toEqual(["/c", "/d"]);
    expect(await paths({ path: "/d" })).toEqual(["/d"]);
    expect(await paths({ path: "/b" })).toEqual([]);
    expect(await paths({ failedSince: 9 })).toEqual(["/c", "/e"]);
    expect(await paths({ failedSince: 8, after: "/c" })).toEqual(["/d", "/e"]);
  });

  test("mounts are moved, removed and forgotten with their days, in the order of the changes", async () => {
    await write({
      spans: ["/a", "/b", "/c"].map((path) => span(path)),
      changes: [
        ...[1, 2].map((day) => add(mountDay("/a", day))),
        add(mountDay("/b", 3, { reason: "of b" })),
        add(mountDay("/c", 4)),
      ],
      sites: [siteDay(1), siteDay(2), siteDay(1, { siteId: "t" })],
    });
    await write({
      changes: [
        { kind: "move", siteId: "s", from: "/a", to: "/b" },
        add(mountDay("/b", 2)),
        { kind: "remove", siteId: "s", path: "/c" },
        { kind: "remove", siteId: "t", path: "/b" },
        { kind: "forget", siteId: "s", before: 2 },
      ],
    });
    expect(await paths()).toEqual(["/b"]);
    expect(await storeOf().mountDays("s", ["/a", "/b", "/c"])).toEqual([
      mountDay("/b", 2, { failed: 10 }),
    ]);
    expect(await storeOf().siteDays()).toEqual(
      expect.arrayContaining([siteDay(2), siteDay(1, { siteId: "t" })]),
    );
    expect(await storeOf().siteDays()).toHaveLength(2);
    expect(await storeOf().siteDays(["t", "u"])).toEqual([siteDay(1, { siteId: "t" })]);
    expect(await storeOf().siteDays([])).toEqual([]);
    // No site exists.
    await storeOf().forgetSites();
    expect(await storeOf().siteDays()).toEqual([]);
    expect(await storeOf().allSpans()).toEqual([]);
  });
}
