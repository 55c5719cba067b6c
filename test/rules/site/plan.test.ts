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

const CASES: readonly (readonly [what: string, given: Case, does: string])[] = [
  ["a new rule is created", { wanted: wanted("/films") }, "create"],
  [
    "a new rule waits where nothing may be written",
    { wanted: wanted("/films"), facts: { isWritable: false } },
    "record",
  ],
  [
    "an equal rule of the site becomes Mooring's without a call",
    { wanted: wanted("/films"), row: row() },
    "record applied=1",
  ],
  [
    "another rule of the site at its path is not overwritten",
    { wanted: wanted("/films", { readme: "new" }), row: row({ readme: "own" }) },
    "record unmanaged differs=readme",
  ],
  [
    "it is on request",
    {
      wanted: wanted("/films", { readme: "new" }),
      row: row({ readme: "own" }),
      facts: { isRequested: true },
    },
    "update",
  ],
  [
    "a changed rule is updated",
    { wanted: wanted("/films", { readme: "new" }, { revision: 2 }), row: row(), before: state() },
    "update",
  ],
  [
    "a rule that was changed on the site is corrected",
    { wanted: wanted("/films"), row: row({ readme: "there" }), before: state() },
    "update drifted",
  ],
  [
    "a rule that was deleted on the site is created again",
    { wanted: wanted("/films"), before: state() },
    "create drifted",
  ],
  [
    "a rule that is changed there again and again is left alone",
    {
      wanted: wanted("/films"),
      row: row({ readme: "there" }),
      before: state({ corrections: [NOW - 3, NOW - 2, NOW - 1] }),
    },
    "record flapping differs=readme",
  ],
  [
    "a request ends this",
    {
      wanted: wanted("/films"),
      row: row({ readme: "there" }),
      before: state({
        corrections: [NOW - 3, NOW - 2, NOW - 1],
        hindrance: "flapping",
        error: "x",
      }),
      facts: { isRequested: true },
    },
    "update drifted",
  ],
  [
    "a rule with a lost password is not sent: the folder would be open",
    { wanted: wanted("/films", {}, { isIncomplete: true }) },
    "record incomplete",
  ],
  [
    "nor is an existing one updated",
    {
      wanted: wanted("/films", { readme: "new" }, { isIncomplete: true, revision: 2 }),
      row: row(),
      before: state(),
    },
    "record incomplete differs=readme",
  ],
  [
    "a rule with an unknown user is not sent: it would admit everybody",
    { wanted: wanted("/films", { read_users: ["ann", "bob"] }) },
    "record users",
  ],
  [
    "nor with an unknown user who may write",
    { wanted: wanted("/films", { write_users: ["bob"] }) },
    "record users",
  ],
  [
    "nor on request",
    { wanted: wanted("/films", { read_users: ["bob"] }), facts: { isRequested: true } },
    "record users",
  ],
  [
    "nor an update",
    {
      wanted: wanted("/films", { read_users: ["bob"] }, { revision: 2 }),
      row: row({ read_users: [3] }),
      before: state(),
    },
    "record users differs=read_users",
  ],
  [
    "a rule with users is not sent while the users of the site can't be read",
    {
      wanted: wanted("/films", { read_users: ["ann"] }),
      facts: { users: undefined, usersError: "broken" },
    },
    "record users",
  ],
  [
    "nor to a server without lists of users",
    { wanted: wanted("/films", { read_users: ["ann"] }), facts: { hasUsers: false } },
    "record unsupported",
  ],
  [
    "a rule of known users is sent",
    { wanted: wanted("/films", { read_users: ["ann"] }) },
    "create",
  ],
  [
    "users in another order are equal",
    {
      wanted: wanted("/films", { read_users: ["admin", "ann"] }),
      row: row({ read_users: [3, 1] }),
      before: state(),
    },
    "record applied=1",
  ],
  [
    "no users as null, as an empty list or as none are equal",
    { wanted: wanted("/films"), row: row({ read_users: [], write_users: null }), before: state() },
    "record applied=1",
  ],
  [
    "an id without a user is kept by its number",
    {
      wanted: wanted("/films", { read_users: ["#12"] }),
      row: row({ read_users: [12] }),
      before: state(),
    },
    "record applied=1",
  ],
  [
    "a number that somebody has now is nobody's rule",
    {
      wanted: wanted("/films", { read_users: ["#3"] }, { revision: 2 }),
      row: row({ read_users: [3] }),
      before: state(),
    },
    "record users differs=read_users",
  ],
  [
    "switches of users count for nothing where a server has no users",
    {
      wanted: wanted("/films", { read_users_sub: true }),
      row: OF_ALIST,
      before: state(),
      facts: { hasUsers: false },
    },
    "record applied=1",
  ],
  [
    "the order of the lines of hide counts, as text",
    { wanted: wanted("/films", { hide: "b\na" }), row: row({ hide: "a\nb" }), before: state() },
    "update drifted",
  ],
  [
    "a password that was set blindly counts as different until it was sent",
    {
      wanted: wanted("/films", { password: "p" }, { blindRevision: 2, revision: 2 }),
      row: row({ password: "p" }),
      before: state(),
    },
    "update",
  ],
  [
    "afterwards it does not",
    {
      wanted: wanted("/films", { password: "p" }, { blindRevision: 2, revision: 2 }),
      row: row({ password: "p" }),
      before: state({ applied: 2, sent: 2 }),
    },
    "record applied=2",
  ],
  [
    "a failed attempt is not repeated before its time",
    {
      wanted: wanted("/films", { readme: "new" }, { revision: 2 }),
      row: row(),
      before: state({ tried: 2, failures: 1, nextTry: NOW + 500, hindrance: "call", error: "no" }),
    },
    "record call differs=readme",
  ],
  [
    "it is after a change",
    {
      wanted: wanted("/films", { readme: "newer" }, { revision: 3 }),
      row: row(),
      before: state({ tried: 2, failures: 1, nextTry: NOW + 500, hindrance: "call", error: "no" }),
    },
    "update",
  ],
  [
    "it is on request, too",
    {
      wanted: wanted("/films", { readme: "new" }, { revision: 2 }),
      row: row(),
      before: state({ tried: 2, failures: 1, nextTry: NOW + 500, hindrance: "call", error: "no" }),
      facts: { isRequested: true },
    },
    "update",
  ],
  [
    "a path that another rule of Mooring has there is not taken",
    { wanted: wanted("/films"), isTaken: true },
    "record taken",
  ],
  ["a deleted rule is deleted on the site", { row: row(), before: state() }, "delete"],
  [
    "not where nothing may be written",
    { row: row(), before: state(), facts: { isWritable: false } },
    "record applied=1",
  ],
  [
    "a row that Mooring never managed stays",
    { row: row(), before: state({ applied: 0 }) },
    "record gone",
  ],
  ["a deleted rule that the site does not have is forgotten", { before: state() }, "record gone"],
  [
    "a row of a creation without a reply is Mooring's",
    {
      wanted: wanted("/films", { readme: "new" }),
      row: row(),
      before: state({ applied: 0, id: 0, creating: true }),
    },
    "update",
  ],
];

test.each(CASES)(
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
