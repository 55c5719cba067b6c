import { expect, test } from "vitest";
import { type Listing, listingForm } from "../../../src/mounts/site/last-listing.ts";
import { GONE, identify, type Job, type PlanFacts, planOf } from "../../../src/mounts/site/plan.ts";
import type { StorageRow } from "../../../src/mounts/site/row.ts";
import { type MountState, NEW_MOUNT } from "../../../src/mounts/site/state.ts";
import { driverByName, hash, mount, storageRow as row } from "./desk.ts";

const NOW = 10_000_000;
const deps = { hash, driverOf: driverByName, now: () => NOW };

/** Equal on both sides, at the newest revision. */
const SETTLED: MountState = {
  ...NEW_MOUNT,
  id: 7,
  path: "/films",
  driver: "Local",
  applied: 1,
  tried: 1,
  credential: 1,
  sent: 1,
};
const OTHER = mount({ revision: 2, items: { root_folder_path: "/srv/new" } });
const FAILED: Partial<MountState> = { failures: 3, nextTry: NOW + 1_000, tried: 2, error: "no" };
const failing: Listing = {
  form: listingForm(row()),
  driver: "Local",
  at: 1,
  since: 1,
  error: "401",
  class: "credential",
  failures: 1,
};
const minutesAgo = (...minutes: number[]) => minutes.map((each) => NOW - each * 60_000);

interface Case {
  readonly job?: Partial<Job>;
  readonly wanted?: ReturnType<typeof mount> | undefined;
  readonly before?: Partial<MountState>;
  readonly facts?: Partial<PlanFacts>;
}

function plan({ job, before, facts, ...rest }: Case) {
  const wanted = "wanted" in rest ? rest.wanted : mount();
  return planOf(
    { name: "films", wanted, row: row(), problem: "", ...job },
    { ...SETTLED, ...before },
    { wanted, isWritable: true, isRequested: false, listings: new Map(), ...facts },
    deps,
  );
}

test.each<[what: string, given: Case, does: string, expected?: object]>([
  ["equal", {}, "record", { state: { applied: 1, differs: [], error: "" } }],
  ["a newer revision that is equal", { wanted: mount({ revision: 4 }) }, "apply"],
  [
    "the same where nothing may be written",
    { wanted: mount({ revision: 4 }), facts: { isWritable: false } },
    "record",
    { state: { applied: 4 } },
  ],
  [
    "other values",
    { wanted: OTHER },
    "apply",
    { drifted: false, isRemount: false, state: { tried: 2 } },
  ],
  [
    "other values where nothing may be written",
    { wanted: OTHER, facts: { isWritable: false } },
    "record",
    { state: { differs: ["root_folder_path"], applied: 1 } },
  ],
  ["a mount that the site lacks", { job: { row: undefined } }, "apply", { drifted: true }],
  ["a mount that is to be deleted", { wanted: undefined }, "apply"],
  [
    "a mount that was deleted since the round began",
    { job: { wanted: mount() }, wanted: undefined, facts: { wanted: undefined } },
    "nothing",
  ],
  [
    "neither wanted nor there",
    { wanted: undefined, job: { row: undefined } },
    "record",
    { state: undefined },
  ],
  [
    "the same whose row may come back",
    { wanted: undefined, job: { row: undefined }, before: { phase: "gone", since: NOW - GONE } },
    "nothing",
  ],
  [
    "the same after that time",
    {
      wanted: undefined,
      job: { row: undefined },
      before: { phase: "gone", since: NOW - GONE - 1 },
    },
    "record",
    { state: undefined },
  ],
  [
    "a problem",
    { wanted: OTHER, job: { problem: "its path is taken" } },
    "record",
    { state: { error: "its path is taken" } },
  ],
  ["a pause after failures", { wanted: OTHER, before: FAILED }, "nothing"],
  [
    "the same on request",
    { wanted: OTHER, before: FAILED, facts: { isRequested: true } },
    "apply",
    { state: { corrections: [] } },
  ],
  [
    "the same with a newer revision",
    { wanted: mount({ ...OTHER, revision: 3 }), before: FAILED },
    "apply",
  ],
  [
    "a change on the site",
    { before: { applied: 2 }, wanted: OTHER },
    "apply",
    { drifted: true, state: { corrections: [NOW] } },
  ],
  [
    "the fourth correction in ten minutes",
    { before: { applied: 2, corrections: minutesAgo(9, 5, 1) }, wanted: OTHER },
    "record",
    { state: { error: expect.objectContaining({ id: "MOUNT_FLAPPING" }) } },
  ],
  [
    "the same on request",
    {
      before: { applied: 2, corrections: minutesAgo(9, 5, 1) },
      wanted: OTHER,
      facts: { isRequested: true },
    },
    "apply",
    { state: { corrections: [] } },
  ],
  [
    "the fourth correction in eleven minutes",
    { before: { applied: 2, corrections: minutesAgo(11, 5, 1) }, wanted: OTHER },
    "apply",
  ],
  ["a failing listing", { facts: { listings: new Map([["/films", failing]]) } }, "record"],
  [
    "the same on request: it is mounted again",
    { facts: { listings: new Map([["/films", failing]]), isRequested: true } },
    "apply",
    { isRemount: true },
  ],
  ["an error status", { job: { row: row({ status: "401" }) } }, "record"],
  ["equal on request", { facts: { isRequested: true } }, "record"],
  [
    "disabled as it is to be, on request",
    {
      job: { row: row({ disabled: true, status: "disabled" }) },
      wanted: mount({ disabled: true }),
      facts: { isRequested: true, listings: new Map([["/films", failing]]) },
    },
    "record",
  ],
  [
    "an error status on request",
    { job: { row: row({ status: "401" }) }, facts: { isRequested: true } },
    "apply",
    { isRemount: true },
  ],
  [
    "a stuck row without differences",
    { job: { row: row({ disabled: true }) }, wanted: mount({ disabled: true }) },
    "apply",
  ],
  [
    "values that the driver has normalised",
    { before: { unconfirmed: true } },
    "apply",
    { drifted: false },
  ],
])("plan for a mount in a round: %s", (_what, given, does, expected = {}) => {
  expect(plan(given)).toMatchObject({ do: does, ...expected });
});

test("a row is identified by its last id with the same path and driver, then by its path", () => {
  const known = new Map([["films", SETTLED]]);
  const found = (rows: readonly StorageRow[]) => {
    const [job] = identify(rows, [mount()], known, []).jobs;
    return [job?.row?.id, String(job?.problem) !== ""];
  };
  expect(found([row()])).toEqual([7, false]);
  expect(found([row({ id: 9 })])).toEqual([9, false]);
  expect(found([])).toEqual([undefined, false]);
  // Moved by a user on the site; another mount has taken the number.
  expect(found([row({ mount_path: "/moved" })])).toEqual([undefined, true]);
  expect(found([row({ mount_path: "/other", driver: "S3" })])).toEqual([undefined, false]);
});

test("rows without a mount are extra, and no row belongs to two mounts", () => {
  const rows = [row(), row({ id: 8, mount_path: "/theirs" })];
  const { jobs, extra } = identify(rows, [mount()], new Map([["old", SETTLED]]), []);
  expect(extra).toMatchObject([{ id: 8, path: "/theirs" }]);
  expect(jobs.map(({ name, row: own }) => [name, own?.id])).toEqual([
    ["films", 7],
    ["old", undefined],
  ]);
});
