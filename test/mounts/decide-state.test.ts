import { expect, test } from "vitest";
import { decideState, type StateFacts } from "../../src/mounts/decide-state.ts";

const WORKS: StateFacts = {
  name: "films",
  site: "home",
  missing: [],
  disabled: false,
  paused: undefined,
  unread: undefined,
  isLasting: false,
  isPushing: true,
  error: "",
  isRetried: false,
  agrees: true,
  absentAt: undefined,
  isMounting: false,
  status: "work",
  statusSince: 5,
  statusRemedy: "",
  incident: undefined,
  listing: undefined,
};
const trouble = (cause: string) => ({ cause, remedy: `do about ${cause}`, since: 7 });
const NO_FOLDER = { status: "root folder /x not exists", statusRemedy: "compare the paths" };
const OTHER_VALUES = { agrees: false };
const OBSERVED = { isPushing: false };
const INCIDENT = { incident: trouble("401") };
const OFF = { disabled: true, status: "disabled" };
const MOUNTING = { isMounting: true, status: "" };
const UNREAD = { unread: trouble("no answer") };
const REFUSED = { unread: trouble("token refused"), isLasting: true };
const PAUSED = { paused: trouble("paused") };
const LOST = { missing: ["password"] };
const NO_MOUNT = "no mount of this driver at /films";
const again = 'mooring mount sync home films"';

test.each<[facts: string, Partial<StateFacts>, state: string, cause: string, remedy: string]>([
  ["everything agrees and works", {}, "ok", "", ""],
  ["a disabled mount that is disabled there", OFF, "ok", "", ""],
  ["an error status beside equal values", NO_FOLDER, "failing", "not exists", again],
  ["beside other values", { ...NO_FOLDER, ...OTHER_VALUES }, "failing", "not", "compare"],
  ["at an observed site", { ...NO_FOLDER, ...OBSERVED, agrees: false }, "failing", "not", again],
  ["an open incident beside the status work", INCIDENT, "failing", "401", again],
  ["a failed listing beside it", { listing: trouble("refused") }, "failing", "refused", "do"],
  [
    "an incident and an error status: the incident has the class",
    { ...NO_FOLDER, incident: trouble("cookie") },
    "failing",
    "cookie",
    "do about cookie",
  ],
  ["an old incident of a mount that is disabled", { ...OFF, ...INCIDENT }, "ok", "", ""],
  ["a site that can't be read", UNREAD, "failing", "no answer", "do about"],
  ["before a user has acted", REFUSED, "stuck", "token refused", "do about"],
  ["a paused site is not read", { ...PAUSED, ...INCIDENT }, "waiting", "paused", "do about"],
  ["a paused site, and lost secrets", { ...PAUSED, ...LOST }, "stuck", "password", ""],
  ["an unread site, and an incident", { ...UNREAD, ...INCIDENT }, "failing", "no answer", ""],
  ["an attempt that is repeated", { error: "no", isRetried: true }, "failing", "no", again],
  ["an attempt that failed for good", { error: "taken" }, "stuck", "taken", again],
  ["lost secrets", { ...LOST, ...NO_FOLDER }, "stuck", "password", "Give"],
  ["a change that is on its way", OTHER_VALUES, "waiting", "", ""],
  ["a change that nothing sends", { ...OTHER_VALUES, ...OBSERVED }, "differs", "", "adopt home"],
  [
    "a mount that the site does not have",
    { ...OTHER_VALUES, ...OBSERVED, absentAt: "/films", status: "" },
    "differs",
    NO_MOUNT,
    "adopt home",
  ],
  ["a server that is mounting", MOUNTING, "waiting", "mounting", ""],
  ["an observed server that is", { ...MOUNTING, ...OBSERVED }, "waiting", "mounting", ""],
  ["one that is, and an open incident", { ...MOUNTING, ...INCIDENT }, "failing", "401", ""],
])("%s", (_facts, facts, state, cause, remedy) => {
  const decided = decideState({ ...WORKS, ...facts });
  expect(decided.state).toBe(state);
  expect(String(decided.cause)).toContain(cause);
  expect(String(decided.remedy)).toContain(remedy);
});

test("a mount fails since its first trouble, also when an incident is opened later", () => {
  const failing = { ...WORKS, ...NO_FOLDER };
  expect(decideState(failing).since).toBe(5);
  expect(decideState({ ...failing, incident: trouble("cookie") }).since).toBe(5);
  const listing = { ...trouble("refused"), since: 6 };
  expect(decideState({ ...WORKS, listing, incident: trouble("refused") }).since).toBe(6);
  expect(decideState({ ...failing, statusSince: 0, incident: trouble("cookie") }).since).toBe(7);
});

test("no source of trouble is hidden by the others: with any of them, the state is not ok", () => {
  const sources: Partial<StateFacts>[] = [
    LOST,
    PAUSED,
    { unread: trouble("site") },
    { error: "attempt" },
    { agrees: false },
    { isMounting: true },
    NO_FOLDER,
    { incident: trouble("incident") },
    { listing: trouble("listing") },
  ];
  for (let mask = 1; mask < 2 ** sources.length; mask += 1) {
    const present = sources.filter((_source, at) => (mask >> at) % 2 === 1);
    for (const isPushing of [true, false])
      for (const isRetried of [true, false])
        expect(
          decideState(Object.assign({}, WORKS, { isPushing, isRetried }, ...present)).state,
        ).not.toBe("ok");
  }
});
