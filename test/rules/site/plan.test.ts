import { describe, expect, test } from "vitest";
import { NO_VALUES, type RuleValues, type WantedRule } from "../../../src/rules/rule.ts";
import { identifyRules, type PlanFacts, planRule } from "../../../src/rules/site/plan.ts";
import { createSiteUsers, type RuleRow } from "../../../src/rules/site/row.ts";
import { NEW_RULE, type RuleState } from "../../../src/rules/site/state.ts";
import { wanted } from "./desk.ts";

const NOW = 1_000_000;
const users = createSiteUsers([
  { id: 1, name: "admin" },
  { id: 3, name: "ann" },
]);
const row = (
  values: Partial<Record<keyof RuleValues, unknown>> = {},
  more: object = {},
): RuleRow => ({
  id: 7,
  path: "/films",
  ...NO_VALUES,
  read_users: null,
  write_users: null,
  ...values,
  ...more,
});
const {
  read_users: _r,
  write_users: _w,
  read_users_sub: _rs,
  write_users_sub: _ws,
  ...plain
} = row();
const OF_ALIST = plain as unknown as RuleRow;
const facts = (more: Partial<PlanFacts> = {}): PlanFacts => ({
  users,
  usersError: "",
  hasUsers: true,
  now: NOW,
  isWritable: true,
  isRequested: false,
  ...more,
});
const state = (more: Partial<RuleState> = {}): RuleState => ({
  ...NEW_RULE,
  id: 7,
  path: "/films",
  applied: 1,
  tried: 1,
  ...more,
});

interface Case {
  readonly wanted?: WantedRule | undefined;
  readonly row?: RuleRow | undefined;
  readonly before?: RuleState;
  readonly facts?: Partial<PlanFacts>;
  readonly isTaken?: boolean;
}

const films = (values: Partial<RuleValues> = {}, more: Partial<WantedRule> = {}) =>
  wanted("/films", values, more);
const FILMS = films();
const NEW = films({ readme: "new" });
const CHANGED = films({ readme: "new" }, { revision: 2 });
const FOR_ANN = films({ read_users: ["ann"] });
const FOR_BOB = films({ read_users: ["bob"] });
const BLIND = films({ password: "p" }, { blindRevision: 2, revision: 2 });
const ROW = row();
const THEIRS = row({ readme: "there" });
const KNOWN = state();
const FLAPPING = state({ corrections: [NOW - 3, NOW - 2, NOW - 1] });
const FAILED = state({ tried: 2, failures: 1, nextTry: NOW + 500, hindrance: "call", error: "no" });
const REQUESTED = { isRequested: true };
const NOT_WRITABLE = { isWritable: false };
const NO_USERS = { hasUsers: false };
const BROKEN_USERS = { users: undefined, usersError: "broken" };

/** A rule of Mooring at the site as it is known. */
const known = (rule: WantedRule, values: Parameters<typeof row>[0] = {}): Case => ({
  wanted: rule,
  row: row(values),
  before: KNOWN,
});

test.each<[what: string, given: Case, does: string]>([
  ["a new rule is created", { wanted: FILMS }, "create"],
  ["it waits where nothing may be written", { wanted: FILMS, facts: NOT_WRITABLE }, "record"],
  ["an equal rule of the site needs no call", { wanted: FILMS, row: ROW }, "record applied=1"],
  [
    "another rule of the site at its path is not overwritten",
    { wanted: NEW, row: THEIRS },
    "record unmanaged differs=readme",
  ],
  ["it is on request", { wanted: NEW, row: THEIRS, facts: REQUESTED }, "update"],
  ["a changed rule is updated", known(CHANGED), "update"],
  ["a change on the site is corrected", known(FILMS, { readme: "there" }), "update drifted"],
  ["a deletion there is reverted", { wanted: FILMS, before: KNOWN }, "create drifted"],
  [
    "a rule that is changed there again and again is left alone",
    { wanted: FILMS, row: THEIRS, before: FLAPPING },
    "record flapping differs=readme",
  ],
  [
    "a request ends this",
    {
      wanted: FILMS,
      row: THEIRS,
      before: { ...FLAPPING, hindrance: "flapping", error: "x" },
      facts: REQUESTED,
    },
    "update drifted",
  ],
  [
    "a rule with a lost password is not sent: the folder would be open",
    { wanted: films({}, { isIncomplete: true }) },
    "record incomplete",
  ],
  [
    "nor is an existing one updated",
    known({ ...CHANGED, isIncomplete: true }),
    "record incomplete differs=readme",
  ],
  [
    "a rule with an unknown user is not sent: it would admit everybody",
    { wanted: films({ read_users: ["ann", "bob"] }) },
    "record users",
  ],
  [
    "nor with an unknown user who may write",
    { wanted: films({ write_users: ["bob"] }) },
    "record users",
  ],
  ["nor on request", { wanted: FOR_BOB, facts: REQUESTED }, "record users"],
  [
    "nor an update",
    known({ ...FOR_BOB, revision: 2 }, { read_users: [3] }),
    "record users differs=read_users",
  ],
  ["nor while users can't be read", { wanted: FOR_ANN, facts: BROKEN_USERS }, "record users"],
  ["nor to a server without users", { wanted: FOR_ANN, facts: NO_USERS }, "record unsupported"],
  ["a rule of known users is sent", { wanted: FOR_ANN }, "create"],
  [
    "users in another order are equal",
    known(films({ read_users: ["admin", "ann"] }), { read_users: [3, 1] }),
    "record applied=1",
  ],
  [
    "no users as null, as an empty list or as none are equal",
    known(FILMS, { read_users: [], write_users: null }),
    "record applied=1",
  ],
  [
    "an id without a user is kept by its number",
    known(films({ read_users: ["#12"] }), { read_users: [12] }),
    "record applied=1",
  ],
  [
    "a number that somebody has now is nobody's rule",
    known(films({ read_users: ["#3"] }, { revision: 2 }), { read_users: [3] }),
    "record users differs=read_users",
  ],
  [
    "switches of users count for nothing where a server has no users",
    {
      wanted: films({ read_users_sub: true }),
      row: OF_ALIST,
      before: KNOWN,
      facts: NO_USERS,
    },
    "record applied=1",
  ],
  [
    "the order of the lines of hide counts, as text",
    known(films({ hide: "b\na" }), { hide: "a\nb" }),
    "update drifted",
  ],
  [
    "a password that was set blindly counts as different until it was sent",
    known(BLIND, { password: "p" }),
    "update",
  ],
  [
    "afterwards it does not",
    { ...known(BLIND, { password: "p" }), before: state({ applied: 2, sent: 2 }) },
    "record applied=2",
  ],
  [
    "a failed attempt is not repeated before its time",
    { wanted: CHANGED, row: ROW, before: FAILED },
    "record call differs=readme",
  ],
  [
    "it is after a change",
    { wanted: { ...CHANGED, revision: 3 }, row: ROW, before: FAILED },
    "update",
  ],
  [
    "it is on request, too",
    { wanted: CHANGED, row: ROW, before: FAILED, facts: REQUESTED },
    "update",
  ],
  ["a path of another rule is not taken", { wanted: FILMS, isTaken: true }, "record taken"],
  ["a deleted rule is deleted on the site", { row: ROW, before: KNOWN }, "delete"],
  [
    "not where nothing may be written",
    { row: ROW, before: KNOWN, facts: NOT_WRITABLE },
    "record applied=1",
  ],
  ["a row never managed stays", { row: ROW, before: state({ applied: 0 }) }, "record gone"],
  ["a deleted rule that the site does not have is forgotten", { before: KNOWN }, "record gone"],
  [
    "a row of a creation without a reply is Mooring's",
    { wanted: NEW, row: ROW, before: state({ applied: 0, id: 0, creating: true }) },
    "update",
  ],
])(
  "%s",
  (_what, { wanted: rule, row: found, before = NEW_RULE, facts: more, isTaken = false }, does) => {
    const job = { name: "/films", before, wanted: rule, row: found, isTaken };
    const plan = planRule(job, facts(more));
    const { state: after } = plan;
    const text =
      plan.do === "record"
        ? after === undefined
          ? "record gone"
          : [
              "record",
              after.hindrance ||
                (after.applied > 0 && after.differs.length === 0 ? `applied=${after.applied}` : ""),
              after.differs.length > 0 ? `differs=${after.differs.join()}` : "",
            ]
        : [plan.do, plan.drifted ? "drifted" : ""];
    expect(
      [text]
        .flat()
        .filter((part) => part !== "")
        .join(" "),
    ).toBe(does);
  },
);

describe("rules and rows of a site", () => {
  const ids = (jobs: ReturnType<typeof identifyRules>["jobs"]) =>
    jobs.map(
      ({ name, wanted: rule, row: found }) =>
        `${name} ${rule ? "wanted" : "deleted"} ${found?.id ?? "-"}`,
    );

  test("belong together by their paths; rows without a rule are left alone", () => {
    const found = identifyRules(
      [row(), row({}, { id: 8, path: "/other" })],
      [wanted("/films"), wanted("/new")],
      new Map(),
    );
    expect(ids(found.jobs)).toEqual(["/films wanted 7", "/new wanted -"]);
    expect(found.extra.map(({ path }) => path)).toEqual(["/other"]);
  });

  test("a row that was moved on the site is another rule there", () => {
    const known = new Map([["/films", state()]]);
    const found = identifyRules([row({}, { path: "/elsewhere" })], [wanted("/films")], known);
    expect(ids(found.jobs)).toEqual(["/films wanted -"]);
    expect(found.extra).toHaveLength(1);
  });

  test("the row of a renamed rule with the same path on the site passes to the new name", () => {
    const known = new Map([["/films", state()]]);
    const { jobs } = identifyRules([row()], [wanted("/films", {}, { name: "/movies" })], known);
    expect(ids(jobs)).toEqual(["/movies wanted 7", "/films deleted -"]);
    expect(jobs[0]?.before.applied).toBe(1);
  });

  test("a deleted rule has only the row that Mooring has managed", () => {
    const known = new Map([
      ["/films", state()],
      ["/seen", state({ id: 9, path: "/seen", applied: 0 })],
    ]);
    const { jobs } = identifyRules([row(), row({}, { id: 9, path: "/seen" })], [], known);
    expect(ids(jobs)).toEqual(["/films deleted 7", "/seen deleted -"]);
  });

  test("two rules do not get one row", () => {
    const known = new Map([["/films", state()]]);
    const { jobs } = identifyRules(
      [row()],
      [wanted("/films"), wanted("/films", {}, { name: "/b" })],
      known,
    );
    expect(jobs.map(({ name, isTaken }) => `${name} ${isTaken}`)).toEqual([
      "/films false",
      "/b true",
    ]);
  });
});
