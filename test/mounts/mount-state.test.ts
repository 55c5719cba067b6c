import { expect, test } from "vitest";
import { decideState, type StateFacts } from "../../src/mounts/mount-state.ts";

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
const again = 'mooring mount sync home films"';

test.each<[name: string, facts: Partial<StateFacts>, state: string, cause: string, remedy: string]>(
  [
    ["everything agrees and works", {}, "ok", "", ""],
    [
      "a disabled mount that is disabled there",
      { disabled: true, status: "disabled" },
      "ok",
      "",
      "",
    ],
    ["an error status beside equal values", NO_FOLDER, "failing", "not exists", again],
    [
      "an error status beside other values",
      { ...NO_FOLDER, agrees: false },
      "failing",
      "not",
      "compare",
    ],
    [
      "an error status at an observed site",
      { ...NO_FOLDER, isPushing: false, agrees: false },
      "failing",
      "not exists",
      again,
    ],
    [
      "an open incident beside the status work",
      { incident: trouble("401") },
      "failing",
      "401",
      again,
    ],
    [
      "a failed listing beside the status work",
      { listing: trouble("refused") },
      "failing",
      "refused",
      "do",
    ],
    [
      "an incident and an error status: the incident has the class",
      { ...NO_FOLDER, incident: trouble("cookie") },
      "failing",
      "cookie",
      "do about cookie",
    ],
    [
      "an old incident of a mount that is disabled",
      { disabled: true, status: "disabled", incident: trouble("401") },
      "ok",
      "",
      "",
    ],
    [
      "a site that can't be read",
      { unread: trouble("no answer") },
      "failing",
      "no answer",
      "do about",
    ],
    [
      "a site that can't be read before a user has acted",
      { unread: trouble("token refused"), isLasting: true },
      "stuck",
      "token refused",
      "do about",
    ],
    [
      "a paused site, whose mounts are not read",
      { paused: trouble("paused"), incident: trouble("401") },
      "waiting",
      "paused",
      "do about",
    ],
    [
      "a paused site, and lost secrets",
      { paused: trouble("paused"), missing: ["password"] },
      "stuck",
      "password",
      "",
    ],
    [
      "a site that can't be read, and an incident",
      { unread: trouble("no answer"), incident: trouble("401") },
      "failing",
      "no answer",
      "",
    ],
    [
      "an attempt that failed and is repeated",
      { error: "no", isRetried: true },
      "failing",
      "no",
      again,
    ],
    ["an attempt that failed for good", { error: "taken" }, "stuck", "taken", again],
    ["lost secrets", { missing: ["password"], ...NO_FOLDER }, "stuck", "password", "Give"],
    ["a change that is on its way", { agrees: false }, "waiting", "", ""],
    [
      "a change that nothing sends",
      { agrees: false, isPushing: false },
      "differs",
      "",
      "adopt home",
    ],
    [
      "a mount that the site does not have",
      { agrees: false, isPushing: false, absentAt: "/films", status: "" },
      "differs",
      "no mount of this driver at /films",
      "adopt home",
    ],
    ["a server that is mounting", { isMounting: true, status: "" }, "waiting", "mounting", ""],
    [
      "an observed server that is mounting",
      { isMounting: true, status: "", isPushing: false },
      "waiting",
      "mounting",
      "",
    ],
    [
      "a server that is mounting a mount with an open incident",
      { isMounting: true, status: "", incident: trouble("401") },
      "failing",
      "401",
      "",
    ],
  ],
)("%s", (_name, facts, state, cause, remedy) => {
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
    { missing: ["password"] },
    { paused: trouble("paused") },
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
