import { expect, test } from "vitest";
import type { Refusal } from "../../../src/mounts/site/client.ts";
import type { StorageRow, WantedMount } from "../../../src/mounts/site/row.ts";
import {
  afterCall,
  afterFailure,
  afterRead,
  beginRun,
  compareRun,
  planUpdate,
  type Run,
  situationOf,
  stateAfterFailure,
  stateBefore,
} from "../../../src/mounts/site/run.ts";
import { type MountState, NEW_MOUNT } from "../../../src/mounts/site/state.ts";
import { nextStep, type Situation, type Step } from "../../../src/mounts/site/step.ts";
import { driverByName, hash, mount, storageRow as row } from "./desk.ts";

const NOW = 10_000_000;
const deps = { hash, driverOf: driverByName, now: () => NOW };

const off = { disabled: true, status: "disabled" };
/** In the table of the server, not in its memory. */
const unmounted = { row: row({ status: "disabled" }), isUnmounted: true };
const gone = { wanted: undefined };

function decide(changes: Partial<Situation>): string {
  const next = nextStep({
    row: row(),
    wanted: mount(),
    isFresh: true,
    isReadable: true,
    differs: false,
    keptSecrets: [],
    isUnconfirmed: false,
    isUnmounted: false,
    isUndroppable: false,
    isMounting: false,
    isToRemount: false,
    isOver: false,
    error: "",
    ...changes,
  });
  return next.do === "end" && next.error !== "" ? `end: ${next.error}` : next.do;
}

test.each<[situation: string, changes: Partial<Situation>, next: string | RegExp]>([
  ["no row", { row: undefined }, "create"],
  ["no row of an unwanted mount", { row: undefined, ...gone }, "end"],
  ["equal", {}, "end"],
  ["equal, from an outdated list: nothing is read for nothing", { isFresh: false }, "end"],
  ["another driver", { row: row({ driver: "S3" }) }, /^end: .* of the driver S3/],
  ["a configuration that can't be read", { isReadable: false }, /^end: .* not a JSON object/],
  ["the same for a mount that is to be deleted", { ...gone, isReadable: false }, "disable"],
  // The clean order: disable, update, enable.
  ["different", { differs: true }, "disable"],
  ["different and off", { row: row(off), differs: true }, "update"],
  ["updated", { row: row(off) }, "enable"],
  ["to be off", { wanted: mount({ disabled: true }) }, "disable"],
  ["off, as it is to be", { row: row(off), wanted: mount({ disabled: true }) }, "end"],
  ["to be deleted", gone, "disable"],
  ["to be deleted, and off", { ...gone, row: row(off) }, "delete"],
  ["failing, mounted again on request", { isToRemount: true }, "disable"],
  // Traps.
  ["a write from a list (trap 3)", { differs: true, isFresh: false }, "read"],
  ["a deletion from a list (traps 1 and 3)", { ...gone, isFresh: false }, "read"],
  ["a failed mount without a difference (trap 5)", { row: row({ status: "401" }) }, "end"],
  ["a path that differs (trap 7)", { differs: true, row: row({ mount_path: "/old" }) }, "disable"],
  ["a driver that can't be stopped (trap 8)", { ...gone, isUndroppable: true }, "delete"],
  [
    "a secret of the site that would move",
    { differs: true, keptSecrets: ["password"] },
    /password/,
  ],
  ["values that the driver has normalised", { isUnconfirmed: true }, "confirm"],
  ["the same while it is off", { isUnconfirmed: true, row: row(off) }, "enable"],
  ["the same while it is mounting", { isUnconfirmed: true, row: row({ status: "" }) }, "end"],
  // Stuck states.
  ["off while its driver serves", { row: row({ disabled: true }) }, "enable"],
  ["the same, to be deleted", { ...gone, row: row({ disabled: true }) }, "enable"],
  ["on without a mount in memory", { row: row({ status: "disabled" }) }, "disable"],
  ["the same, after the server has refused to disable it", unmounted, "update"],
  ["the same, to be deleted", { ...unmounted, ...gone }, "update"],
  ["the same, while it may be mounting", { ...unmounted, isMounting: true }, "end"],
  [
    "a change of it while it may be mounting",
    { ...unmounted, isMounting: true, differs: true },
    /^end: .* in progress/,
  ],
  ["a deletion while it hangs", { ...gone, row: row({ status: "" }), isMounting: true }, "disable"],
  ["mounting, broken off", { row: row({ status: "" }) }, "disable"],
  ["mounting", { row: row({ status: "" }), isMounting: true }, "end"],
  // The end.
  ["a call that has failed", { differs: true, error: "refused" }, "end: refused"],
  ["a deleted mount", { ...gone, row: undefined, isOver: true }, "end"],
])("next call for a mount: %s", (_situation, changes, next) => {
  if (typeof next === "string") expect(decide(changes)).toBe(next);
  else expect(decide(changes)).toMatch(next);
});

const begun = (wanted: WantedMount = mount(), state: Partial<MountState> = {}): Run =>
  beginRun(wanted, row(), { ...NEW_MOUNT, id: 7, phase: "change", ...state }, false);

const decided = (run: Run): string => nextStep(situationOf(run, compareRun(run, deps), deps)).do;

test.each<
  [call: string, step: Step, after: StorageRow | undefined, next: string, Partial<MountState>?]
>([
  ["disabled", "disable", row(off), "enable"],
  [
    "a creation that the site lists",
    "create",
    row({ id: 9 }),
    "confirm",
    { id: 9, phase: "mount", unconfirmed: true },
  ],
  ["a creation that it does not list", "create", undefined, "end"],
  ["a mount that has ended", "enable", row(), "end"],
  ["a deletion", "delete", undefined, "end", { phase: "gone", since: NOW }],
  ["a deletion of a row that stays (a ghost)", "delete", row(), "end"],
])("after a call: %s", (_call, step, after, next, state = {}) => {
  const run = afterCall({ ...begun(), isFresh: true }, step, after, NOW);
  expect([decided(run), run.state]).toMatchObject([next, state]);
});

/** A failed call: its step, the class of its refusal with its words; without: no answer. */
const failed = (step: Step, refusal?: Refusal, words = "no answer") => ({ step, refusal, words });

test.each<
  [
    failure: string,
    failed: ReturnType<typeof failed>,
    of: "kept" | "deleted",
    after: StorageRow | undefined,
    next: string,
    expected: Partial<Run>,
  ]
>([
  [
    "a failed creation is stored (trap 6)",
    failed("create", "stored", "init"),
    "kept",
    row({ id: 9, status: "401" }),
    "confirm",
    { hasCreated: true },
  ],
  [
    "a creation without an answer is looked for by its path",
    failed("create"),
    "kept",
    row({ id: 9, status: "" }),
    "end",
    { hasCreated: true, error: "no answer" },
  ],
  [
    "a refused creation",
    failed("create", "other", "no driver"),
    "kept",
    undefined,
    "end",
    { error: "no driver" },
  ],
  [
    "a failed mount is stored",
    failed("enable", "stored", "load"),
    "kept",
    row({ status: "401" }),
    "end",
    { error: "" },
  ],
  ["enabled already", failed("enable", "already", "enabled"), "kept", row(), "end", { error: "" }],
  [
    "not in memory",
    failed("disable", "unmounted", "no mount path"),
    "kept",
    row({ status: "disabled" }),
    "end",
    { isUnmounted: true },
  ],
  [
    "a driver that can't be stopped, of a mount to be deleted (trap 8)",
    failed("disable", "other", "failed drop storage"),
    "deleted",
    row(),
    "delete",
    { isUndroppable: true },
  ],
  [
    "the same of a mount to be changed",
    failed("disable", "other", "failed drop storage"),
    "kept",
    row(),
    "end",
    { error: "failed drop storage" },
  ],
  [
    "a deletion with a failing drop that is done (OpenList)",
    failed("delete", "other", "drop"),
    "deleted",
    undefined,
    "end",
    { error: "", isOver: true },
  ],
  [
    "the same that is not done (AList)",
    failed("delete", "other", "drop"),
    "deleted",
    row(),
    "end",
    { error: "drop", isOver: true },
  ],
  [
    "a row that is gone",
    failed("update", "absent", "not found"),
    "kept",
    undefined,
    "create",
    { error: "" },
  ],
])("after a failed call: %s", (_failure, { step, refusal, words }, of, after, next, expected) => {
  const wanted = of === "kept" ? mount() : undefined;
  const run = { ...begun(), wanted, isFresh: true };
  const failure = { refusal, words, text: words, isUncertain: refusal === undefined };
  const done = afterFailure(run, step, failure, after, NOW);
  expect([decided(done), done]).toMatchObject([next, expected]);
});

test("a call without an answer, and a refusal to disable, are stored with their time", () => {
  const failure = { words: "", text: "", isUncertain: false };
  const after = (step: Step, refusal: Refusal | undefined, isUncertain = false) =>
    stateAfterFailure(begun(), step, { ...failure, refusal, isUncertain }, NOW).since;
  expect(after("update", undefined, true)).toBe(NOW);
  expect(after("disable", "unmounted")).toBe(NOW);
  expect(after("disable", "other")).toBe(0);
});

test("a row that another mount has taken since the list is not written to", () => {
  for (const changes of [{ mount_path: "/other" }, { driver: "S3" }]) {
    const run = afterRead(begun(), row(changes));
    expect([decided(run), String(run.error)]).toEqual(["end", expect.stringContaining("its id")]);
  }
  expect(decided(afterRead(begun(mount({ members: {} })), row()))).toBe("end");
});

test("an update has the whole row that was read just before (traps 2 and 3)", () => {
  const wanted = mount({ revision: 2, items: { root_folder_path: "/srv/new" } });
  const there = row({ remark: "theirs", addition: '{"root_folder_path":"/srv/films","own":1}' });
  const run = { ...begun(wanted), row: there, isFresh: true };
  const compared = compareRun(run, deps);
  if (compared === undefined) throw new Error("the row can be read");
  const update = planUpdate(run, compared, deps);
  expect(update.row).toEqual({
    ...there,
    disabled: true,
    addition: '{"root_folder_path":"/srv/new","own":1}',
  });
  expect(update).toMatchObject({
    before: { unconfirmed: true },
    after: { sent: 2, phase: "mount" },
  });
});

test("the work in progress is stored before the first call, once", () => {
  const run = { ...begun(mount(), { phase: "" }), row: row() };
  const state = stateBefore(run, "disable", NOW);
  expect(state).toMatchObject({ phase: "change", id: 7, since: NOW, path: "/films" });
  expect(stateBefore({ ...run, state }, "update", NOW)).toBe(state);
  const created = { phase: "create", id: 0, path: "/films", since: NOW };
  const fresh = { ...run, row: undefined, state: NEW_MOUNT };
  expect(stateBefore(fresh, "create", NOW)).toMatchObject(created);
});
