import { describe, expect, test } from "vitest";
import { classify } from "../../src/incidents/incident.ts";
import { Probes } from "../../src/incidents/probe.ts";
import { type Listing, listingForm, nextListing } from "../../src/mounts/site/last-listing.ts";
import { createLister } from "../../src/mounts/site/listing.ts";
import type { StorageRow } from "../../src/mounts/site/row.ts";
import type { Site } from "../../src/sites/site.ts";
import { createSiteClient } from "../../src/sync/client.ts";
import { driverByName } from "../mounts/site/desk.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForEach } from "../started.ts";

const INTERVAL = 900_000;

const server = startedForEach(startStandIn);
const client = startedForEach(() =>
  createSiteClient({ url: server.url, token: server.token(), ca: "", pin: "" }, 4),
);

const site = { id: "s", name: "one" } as Site;

const row = (id: number, path: string, changes: Partial<StorageRow> = {}): StorageRow => ({
  id,
  mount_path: path,
  driver: "PikPak",
  status: "work",
  disabled: false,
  modified: "1",
  addition: JSON.stringify({ username: "u", password: `password of ${path}` }),
  ...changes,
});

function desk() {
  const clock = { now: 1_000_000 };
  const results: [path: string, error: string][] = [];
  const failures: unknown[] = [];
  const listings = new Map<string, Listing>();
  const now: { rows: readonly StorageRow[] | undefined } = { rows: undefined };
  let read: readonly StorageRow[] = [];
  const lister = createLister({ driverOf: driverByName, clientOf: () => client });
  const start = () => {
    const probes = new Probes({
      rowsOf: async () => now.rows ?? read,
      interval: INTERVAL,
      isFree: lister.isFree,
      list: lister.list,
      lastOf: (_site, path) => listings.get(path),
      now: () => clock.now,
      // The pause is then the interval.
      random: () => 0.5,
      onResult: async (_site, one, error) => {
        const { mount_path: path, driver } = one;
        results.push([path, error]);
        const now = { form: listingForm(one), driver, at: clock.now, error };
        const kind = error === "" ? "" : classify(error);
        listings.set(path, nextListing(listings.get(path), { ...now, class: kind }));
      },
      onError: (error) => failures.push(error),
    });
    const listed: typeof probes.listed = (one, rows) => {
      read = rows;
      probes.listed(one, rows);
    };
    return { run: () => probes.run(), listed };
  };
  return { clock, now, results, failures, listings, start, probes: start() };
}

/** Paths that were listed with a refresh, in order. */
const refreshed = () => server.listings.filter(({ refresh }) => refresh).map(({ path }) => path);

test("a mount is listed with a refresh once per interval", async () => {
  const { clock, results, probes } = desk();
  probes.listed(site, [row(1, "/a")]);
  await probes.run();
  expect(refreshed()).toEqual([]);
  clock.now += INTERVAL / 2;
  await probes.run();
  expect(refreshed()).toEqual(["/a"]);
  expect(results).toEqual([["/a", ""]]);
  clock.now += INTERVAL - 1;
  probes.listed(site, [row(1, "/a")]);
  await probes.run();
  expect(refreshed()).toHaveLength(1);
  clock.now += 1;
  await probes.run();
  expect(refreshed()).toHaveLength(2);
});

test.each([
  ["deleted", []],
  ["disabled", [row(1, "/a", { disabled: true })]],
  ["changed", [row(1, "/a", { modified: "2" })]],
])("a mount that was %s since the last read does not fail", async (_name, rows) => {
  const { clock, now, results, failures, probes } = desk();
  server.folders.set("/a", "failed get storage: storage not found; rawPath: /a");
  probes.listed(site, [row(1, "/a")]);
  now.rows = rows;
  clock.now += INTERVAL;
  await probes.run();
  expect(refreshed()).toEqual(["/a"]);
  expect([results, failures]).toEqual([[], []]);
});

test("a message of a listing has no secret of the mount, also beyond its cut", async () => {
  const { clock, results, probes } = desk();
  const secret = "password of /a";
  server.folders.set("/a", `login failed: ${"&amp;".repeat(55)}${encodeURIComponent(secret)}`);
  probes.listed(site, [row(1, "/a")]);
  clock.now += INTERVAL;
  await probes.run();
  expect(results[0]?.[1]).toContain("&amp;********");
});

test("after a credential error a mount is not listed until its row changes", async () => {
  const { clock, results, probes } = desk();
  server.folders.set("/a", "failed get objs: failed to list objs: login failed");
  probes.listed(site, [row(1, "/a")]);
  clock.now += INTERVAL;
  await probes.run();
  expect(results).toEqual([["/a", "failed get objs: failed to list objs: login failed"]]);
  clock.now += 100 * INTERVAL;
  // A token that the server refreshed is not a change by a user.
  probes.listed(site, [row(1, "/a", { addition: '{"token":"other"}' })]);
  await probes.run();
  expect(refreshed()).toHaveLength(1);
  server.folders.delete("/a");
  probes.listed(site, [row(1, "/a", { modified: "2" })]);
  clock.now += INTERVAL;
  await probes.run();
  expect(results.at(-1)).toEqual(["/a", ""]);
});

test("other failures double the interval up to six hours", async () => {
  const { clock, probes } = desk();
  server.folders.set("/a", "object not found");
  probes.listed(site, [row(1, "/a")]);
  const pauses: number[] = [];
  let last = clock.now;
  while (pauses.length < 8) {
    const before = refreshed().length;
    clock.now += INTERVAL / 2;
    await probes.run();
    if (refreshed().length === before) continue;
    pauses.push((clock.now - last) / INTERVAL);
    last = clock.now;
  }
  expect(pauses).toEqual([0.5, 2, 4, 8, 16, 24, 24, 24]);
});

test("a network error is confirmed twice within minutes, then the interval doubles", async () => {
  const { clock, probes, results } = desk();
  server.folders.set("/a", "dial tcp 192.0.2.1:443: connection refused");
  probes.listed(site, [row(1, "/a")]);
  clock.now += INTERVAL;
  for (let minute = 0; minute < 60; minute += 1) {
    await probes.run();
    clock.now += 60_000;
  }
  expect(results).toHaveLength(3);
});

test("after a restart the stored results count: no listing after a credential error, nor before its time", async () => {
  const { clock, probes, start, results } = desk();
  const rows = [row(1, "/dead"), row(2, "/good")];
  server.folders.set("/dead", "require login [guest]");
  probes.listed(site, rows);
  clock.now += INTERVAL;
  await probes.run();
  expect(results.map(([path]) => path).toSorted()).toEqual(["/dead", "/good"]);
  const again = start();
  again.listed(site, rows);
  clock.now += INTERVAL - 1;
  await again.run();
  expect(results).toHaveLength(2);
  clock.now += 2 * INTERVAL;
  await again.run();
  expect(results.slice(2).map(([path]) => path)).toEqual(["/good"]);
});

test("a new mount, and a changed one, is listed at once", async () => {
  const { probes, results } = desk();
  probes.listed(site, [row(1, "/old")]);
  probes.listed(site, [row(1, "/old"), row(2, "/new")]);
  await probes.run();
  expect(results).toEqual([["/new", ""]]);
  probes.listed(site, [row(1, "/old", { modified: "2" }), row(2, "/new")]);
  await probes.run();
  expect(results).toEqual([
    ["/new", ""],
    ["/old", ""],
  ]);
});

test("mounts of one account are listed one at a time", async () => {
  const { clock, probes } = desk();
  const same = { addition: JSON.stringify({ username: "u", password: "one password" }) };
  probes.listed(site, [row(1, "/a", same), row(2, "/b", same), row(3, "/c")]);
  clock.now += INTERVAL;
  await probes.run();
  expect(refreshed().toSorted()).toEqual(["/a", "/c"]);
  await probes.run();
  expect(refreshed().toSorted()).toEqual(["/a", "/b", "/c"]);
});

describe("a mount with mounts below it", () => {
  test("is probed by a folder of its own", async () => {
    const { clock, results, probes } = desk();
    server.folders.set("/", ["b", "own"]);
    server.folders.set("/own", "status: 502");
    probes.listed(site, [row(1, "/"), row(2, "/b")]);
    clock.now += INTERVAL;
    await probes.run();
    expect(refreshed().toSorted()).toEqual(["/b", "/own"]);
    expect(results).toContainEqual(["/", "status: 502"]);
  });

  test("without a folder of its own is not probed", async () => {
    const { clock, results, probes } = desk();
    server.folders.set("/", ["b", "deep"]);
    probes.listed(site, [row(1, "/"), row(2, "/b"), row(3, "/deep/c", { disabled: true })]);
    clock.now += INTERVAL;
    await probes.run();
    expect(refreshed()).toEqual(["/b"]);
    expect(results).toEqual([["/b", ""]]);
  });
});

test("a site that does not answer has no results for its mounts", async () => {
  const { clock, results, failures, probes } = desk();
  probes.listed(site, [row(1, "/a")]);
  await server.stop();
  clock.now += INTERVAL;
  await probes.run();
  expect(results).toEqual([]);
  expect(failures).toEqual([]);
  await server.start();
  clock.now += INTERVAL;
  await probes.run();
  expect(results).toEqual([["/a", ""]]);
});

test("mounts that are disabled, failing or deleted are not listed", async () => {
  const { clock, probes } = desk();
  probes.listed(site, [
    row(1, "/a", { disabled: true }),
    row(2, "/b", { status: "login failed" }),
    row(3, "/c"),
  ]);
  probes.listed(site, []);
  clock.now += 2 * INTERVAL;
  await probes.run();
  expect(server.listings).toEqual([]);
});
