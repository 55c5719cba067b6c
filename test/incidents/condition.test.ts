import { expect, test } from "vitest";
import { createConditions } from "../../src/incidents/condition.ts";
import { adviceOf, type Incident, titleOf } from "../../src/incidents/incident.ts";
import { createWatchCondition, type ExpiringToken } from "../../src/incidents/watch-condition.ts";
import type { Site } from "../../src/sites/site.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { startedForEach } from "../started.ts";
import { temporaryPaths } from "../store/folder.ts";

const newPath = temporaryPaths();
const store = startedForEach(() => openSqliteStore(newPath()));
const DAY = 86_400_000;

function start() {
  const clock = { now: 1_800_000_000_000 };
  const events: string[] = [];
  let made = 0;
  const conditions = createConditions({
    store: store.incidents,
    now: () => clock.now,
    newId: () => {
      made += 1;
      return `id-${made}`;
    },
    announce: (event, { subject, message, class: kind }) => {
      events.push(`${event} ${subject} ${kind}: ${String(message)}`);
      return [];
    },
    join: () => undefined,
    onChange: () => undefined,
  });
  const sites: Site[] = [{ id: "s", name: "home", token: "t", paused: false } as Site];
  const state: {
    failure: { kind: string; message: string } | undefined;
    reachedAt: number;
    tokens: ExpiringToken[];
  } = { failure: undefined, reachedAt: 0, tokens: [] };
  const newWatch = () =>
    createWatchCondition({
      store: store.incidents,
      report: conditions.report,
      sites: () => sites,
      failureOf: () => state.failure,
      reachedAt: () => state.reachedAt,
      tokens: () => state.tokens,
      now: () => clock.now,
    });
  const open = async () => store.incidents.list({ open: true, limit: 10 });
  return { clock, events, conditions, sites, state, newWatch, open };
}

test("a backup that fails opens one incident, which its success closes", async () => {
  const { events, conditions, open } = start();
  const backup = { subject: "backup", name: "nightly" } as const;
  const failed = { class: "configuration", message: "the folder is full" } as const;
  await Promise.all([1, 2, 3].map(() => conditions.report(backup, failed)));
  expect(await open()).toMatchObject([
    { subject: "backup", name: "nightly", siteId: "", mountPath: "", source: "backup" },
  ]);
  await conditions.report({ subject: "backup", name: "other" }, undefined);
  await conditions.report(backup, undefined);
  expect(await open()).toEqual([]);
  expect(events).toEqual([
    "opened backup configuration: the folder is full",
    "closed backup configuration: the folder is full",
  ]);
});

test("a site is down after a minute without an answer, and up with the next answer", async () => {
  const { clock, events, state, newWatch } = start();
  const watch = newWatch();
  state.failure = { kind: "unreachable", message: "refused" };
  await watch.run();
  clock.now += 59_000;
  await watch.run();
  expect(events).toEqual([]);
  clock.now += 1_000;
  await watch.run();
  state.failure = { kind: "silent", message: "no answer" };
  await watch.run();
  expect(events).toEqual(["opened site network: refused"]);
  state.failure = undefined;
  // The last answer is older than the failure.
  await watch.run();
  expect(events).toHaveLength(1);
  state.reachedAt = clock.now;
  await watch.run();
  expect(events).toEqual(["opened site network: refused", "closed site network: no answer"]);
});

test("a short interruption of a site is no incident", async () => {
  const { clock, events, state, newWatch } = start();
  const watch = newWatch();
  for (let turn = 0; turn < 10; turn += 1) {
    state.failure = { kind: "unreachable", message: "refused" };
    await watch.run();
    clock.now += 40_000;
    state.failure = undefined;
    state.reachedAt = clock.now;
    await watch.run();
  }
  expect(events).toEqual([]);
});

test.each([
  ["unauthorized", "credential"],
  ["forbidden", "credential"],
  ["mooring", "configuration"],
])("a site that answers %s has an incident of the class %s at once", async (kind, expected) => {
  const { events, state, newWatch } = start();
  state.failure = { kind, message: "no" };
  await newWatch().run();
  expect(events).toEqual([`opened site ${expected}: no`]);
});

test("an incident of a site survives a restart, and closes with the site", async () => {
  const { events, state, sites, newWatch, clock } = start();
  state.failure = { kind: "unauthorized", message: "no" };
  state.reachedAt = clock.now - 1;
  await newWatch().run();
  // The next process knows no failure yet.
  state.failure = undefined;
  const next = newWatch();
  await next.run();
  expect(events).toHaveLength(1);
  sites.pop();
  await next.run();
  expect(events.at(-1)).toBe("closed site credential: no");
});

test("a paused site has no incident", async () => {
  const { events, state, sites, newWatch } = start();
  state.failure = { kind: "unauthorized", message: "no" };
  const watch = newWatch();
  await watch.run();
  sites[0] = { ...sites[0], paused: true } as Site;
  await watch.run();
  expect(events.at(-1)).toBe("closed site credential: no");
});

test("a token is announced 14, 3 and 1 days before its end and at it, and closes when it is replaced", async () => {
  const { clock, events, state, newWatch } = start();
  const watch = newWatch();
  const until = clock.now + 30 * DAY;
  const time = new Date(until).toISOString();
  state.tokens = [{ tokenId: "t1", principal: "ci", until }];
  for (let day = 0; day <= 31; day += 1) {
    await watch.run();
    clock.now += DAY;
  }
  const ends = (days: number) => `token credential: it expires at ${time}, in ${days} d or less`;
  expect(events).toEqual([
    `opened ${ends(14)}`,
    `changed ${ends(3)}`,
    `changed ${ends(1)}`,
    `changed token credential: it expired at ${time}`,
  ]);
  state.tokens = [];
  await watch.run();
  expect(events.at(-1)).toMatch(/^closed token/);
});

test("the token of a site that is a JWT is announced too", async () => {
  const { clock, events, sites, newWatch } = start();
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor((clock.now + 2 * DAY) / 1_000);
  sites[0] = { ...sites[0], token: `${part({ alg: "HS256" })}.${part({ exp })}.x` } as Site;
  await newWatch().run();
  expect(events).toEqual([
    expect.stringMatching(/^opened token credential: it expires at .*, in 3 d/),
  ]);
});

test("a site that a restore has paused is an incident after ten minutes, until the restore has ended", async () => {
  const { clock, events, sites, state, newWatch, open } = start();
  const watch = newWatch();
  const restoring = clock.now;
  sites[0] = { ...sites[0], paused: true, restoring } as Site;
  clock.now += 599_999;
  await watch.run();
  expect(events).toEqual([]);
  clock.now += 1;
  await watch.run();
  expect(events).toEqual([
    expect.stringMatching(/^opened site configuration: paused by a restore that has not ended/),
  ]);
  const [incident] = await open();
  const place = { site: "home", mount: undefined, name: "" };
  expect(String(titleOf(incident as Incident, place))).toBe("The restore of home has not ended");
  expect(String(adviceOf(incident as Incident, place))).toContain("site set home paused=false");
  sites[0] = { ...sites[0], paused: false, restoring: 0 } as Site;
  state.reachedAt = clock.now;
  await watch.run();
  expect(events.at(-1)).toMatch(/^closed site/);
});
