import { expect, test } from "vitest";
import { DAY } from "../../../src/incidents/days/day.ts";
import { createDayService, type StripFilter } from "../../../src/incidents/days/service.ts";
import type { Site } from "../../../src/sites/site.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { startedForEach } from "../../started.ts";
import { temporaryPaths } from "../../store/folder.ts";

const newPath = temporaryPaths();
const store = startedForEach(() => openSqliteStore(newPath()));
const TODAY = 20_000;

/** 120 sites with two mounts each, of which the first fails on every tenth site. */
async function start() {
  const sites = Array.from({ length: 120 }, (_, at) => ({
    id: `id-${119 - at}`,
    name: `site-${String(at).padStart(3, "0")}`,
  })) as Site[];
  const failing = sites.filter((_, at) => at % 10 === 0);
  const span = { firstDay: TODAY - 5, firstAt: 0, day: TODAY, began: 0, reason: "" } as const;
  const { days } = store.incidents;
  await days.write({
    changes: [],
    spans: sites.flatMap(({ id: siteId }) => [
      {
        ...span,
        siteId,
        path: "/a",
        state: failing.some(({ id }) => id === siteId) ? "fails" : "works",
      },
      { ...span, siteId, path: "/b", state: "works" },
    ]),
    sites: sites.map(({ id: siteId }, at) => ({
      siteId,
      day: TODAY,
      worked: 1_000 * at,
      failed: 0,
      countedTo: TODAY * DAY + 500_000,
      reason: "",
    })),
  });
  const service = createDayService({
    store: days,
    sites: { sites: () => sites },
    now: () => TODAY * DAY + 500_000,
  });
  /** Reads all pages of a size. */
  const all = async (filter: Partial<StripFilter>, size: number) => {
    const names: string[] = [];
    for (let after: StripFilter["after"]; ; ) {
      const page = await service.list({ failed: false, ...filter, after, limit: size });
      names.push(...page.map(({ site, path }) => `${site}${path}`));
      if (page.length < size) return names;
      after = page.at(-1);
    }
  };
  return { sites, failing, service, all };
}

test.each([1, 7, 50, 359, 1_000])(
  "pages of %i strips have each site and mount once, by name and path",
  async (size) => {
    const { sites, failing, all } = await start();
    const expected = sites.flatMap(({ name }) => [name, `${name}/a`, `${name}/b`]);
    expect(await all({}, size)).toEqual(expected);
    expect(await all({ subject: "site" }, size)).toEqual(sites.map(({ name }) => name));
    expect(await all({ failed: true }, size)).toEqual(failing.map(({ name }) => `${name}/a`));
    expect(await all({ path: "/b" }, size)).toEqual(sites.map(({ name }) => `${name}/b`));
  },
);

test("each site has its own days, also beyond those that are read at once", async () => {
  const { service } = await start();
  const strips = await service.list({ subject: "site", failed: false, limit: 1_000 });
  expect(strips.map(({ days }) => days.at(-1)?.worked)).toEqual(
    Array.from({ length: 120 }, (_, at) => at),
  );
});

test("a page after a site that was removed meanwhile goes on with the next one", async () => {
  const { service } = await start();
  const after = { site: "site-010-removed", path: "/a" };
  const [next] = await service.list({ failed: false, after, limit: 1 });
  expect(next).toMatchObject({ site: "site-011", path: "" });
});

test("a call that has ended reads no further sites", async () => {
  const { sites } = await start();
  const { days } = store.incidents;
  const ending = new AbortController();
  let read = 0;
  const service = createDayService({
    store: {
      ...days,
      spans: (filter) => {
        read += 1;
        if (read === 3) ending.abort(new Error("ended"));
        return days.spans(filter);
      },
    },
    sites: { sites: () => sites },
    now: () => TODAY * DAY,
  });
  await expect(service.list({ failed: true, limit: 1_000 }, ending.signal)).rejects.toThrow(
    "ended",
  );
  expect(read).toBe(3);
});
