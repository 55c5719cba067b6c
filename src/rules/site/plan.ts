import { message, type Text } from "../../messages/message.ts";
import { correctionsAfter, recentCorrections } from "../../sync/flapping.ts";
import type { WantedRule } from "../rule.ts";
import { compareRule } from "./compare.ts";
import { NO_USERS, namesUsers, type RuleRow, type SiteUsers, unknownUsers } from "./row.ts";
import {
  FREE,
  type Hindrance,
  hindered,
  isManaged,
  isWaiting,
  NEW_RULE,
  type RuleState,
} from "./state.ts";

/** A rule in a round. */
export interface RuleJob {
  readonly name: string;
  /** State before the round; of a moved rule, that of its earlier name. */
  readonly before: RuleState;
  readonly wanted: WantedRule | undefined;
  readonly row: RuleRow | undefined;
  /** Whether another rule of Mooring has the row at its path. */
  readonly isTaken: boolean;
}

/** Facts about the site, besides the rule, its row and its state. */
export interface SiteFacts {
  /** Undefined: they could not be read, or nothing needs them. */
  readonly users: SiteUsers | undefined;
  /** Why the users could not be read; empty: they were read. */
  readonly usersError: Text;
  /** Whether the server has lists of users; undefined: no row shows it. */
  readonly hasUsers: boolean | undefined;
  readonly now: number;
}

/** Facts about the round. */
export interface PlanFacts extends SiteFacts {
  /** Whether the rule may be written to the site. */
  readonly isWritable: boolean;
  /** Whether a user has requested it, despite earlier failures. */
  readonly isRequested: boolean;
}

/**
 * Plan of a round for one rule.
 * - `record`: the state is stored; undefined: it is removed.
 * - `create`, `update`, `delete`: the call is made; the state is stored before it.
 */
export type RulePlan =
  | { readonly do: "record"; readonly state: RuleState | undefined }
  | {
      readonly do: "create" | "update" | "delete";
      readonly state: RuleState;
      /** Whether the rule was changed on the site, and is corrected. */
      readonly drifted: boolean;
    };

/** Decides what a round does with a rule. */
export function planRule(job: RuleJob, facts: PlanFacts): RulePlan {
  if (job.wanted === undefined) return planDeletion(job, facts);
  return planWanted(job.wanted, job, facts);
}

/** A rule that Mooring does not have any more. The site's row is deleted only if Mooring manages it. */
function planDeletion({ row, before }: RuleJob, facts: PlanFacts): RulePlan {
  if (row === undefined || !isManaged(before)) return { do: "record", state: undefined };
  const state = { ...before, id: row.id, path: row.path, absent: false };
  if (!facts.isWritable || (isWaiting(before, facts.now) && !facts.isRequested))
    return { do: "record", state };
  return { do: "delete", state, drifted: false };
}

function planWanted(
  wanted: WantedRule,
  { row, before, isTaken }: RuleJob,
  facts: PlanFacts,
): RulePlan {
  const { now: time, isRequested } = facts;
  const differs =
    row === undefined
      ? []
      : compareRule(wanted, row, { users: facts.users ?? NO_USERS, sent: before.sent });
  const seen: RuleState = {
    ...before,
    ...(row !== undefined && { id: row.id, path: row.path, creating: false }),
    // A row that a lost reply has created is Mooring's.
    ...(row !== undefined && before.creating && { applied: Math.max(1, before.applied) }),
    absent: row === undefined,
    differs,
  };
  // A server that shows no row has shown by a creation that it has no lists of users.
  const hasUsers =
    facts.hasUsers ??
    (before.hindrance === "unsupported" && before.tried === wanted.revision ? false : undefined);
  const [hindrance, error] = hindranceOf(wanted, isTaken, { ...facts, hasUsers });
  if (hindrance !== "")
    return { do: "record", state: hindered(seen, hindrance, error, { time, isTried: false }) };
  const isDifferent = row === undefined || differs.length > 0;
  if (!isDifferent && !(before.cached && facts.isWritable)) {
    const corrections = recentCorrections(before.corrections, time);
    return {
      do: "record",
      state: { ...seen, ...FREE, applied: wanted.revision, tried: wanted.revision, corrections },
    };
  }
  if (row !== undefined && isDifferent && !isManaged(before) && !isRequested)
    return {
      do: "record",
      state: hindered(seen, "unmanaged", message("RULE_UNMANAGED_THERE", { path: row.path }), {
        time,
        isTried: false,
      }),
    };
  // A hindrance of earlier rounds is gone; failed calls and flapping stay until the next attempt.
  const open = ["call", "flapping"].includes(before.hindrance) ? seen : { ...seen, ...FREE };
  if (!facts.isWritable) return { do: "record", state: open };
  const isTried = before.tried === wanted.revision && isWaiting(before, time);
  if (isTried && !isRequested) return { do: "record", state: open };
  const drifted = isDifferent && before.applied > 0 && wanted.revision <= before.applied;
  const { corrections, isFlapping } = correctionsAfter(before.corrections, {
    drifted,
    isRequested,
    now: time,
  });
  if (isFlapping)
    return {
      do: "record",
      state: hindered({ ...seen, corrections }, "flapping", message("RULE_FLAPPING"), {
        time,
        isTried: false,
      }),
    };
  const state = { ...open, corrections, tried: wanted.revision };
  if (row !== undefined) return { do: "update", state, drifted };
  return { do: "create", state: { ...state, creating: true, path: wanted.path }, drifted };
}

/**
 * Why a rule must not be written, whatever the row: without its password or its users it would open
 * the folder.
 */
function hindranceOf(
  wanted: WantedRule,
  isTaken: boolean,
  { users, usersError, hasUsers }: SiteFacts,
): readonly [Hindrance, Text] {
  if (wanted.isIncomplete) return ["incomplete", message("RULE_INCOMPLETE")];
  if (isTaken) return ["taken", message("RULE_PATH_TAKEN_THERE", { path: wanted.path })];
  if (!namesUsers(wanted.values)) return ["", ""];
  if (hasUsers === false) return ["unsupported", message("RULE_USERS_UNSUPPORTED")];
  if (users === undefined) return ["users", message("RULE_USERS_UNREAD", { problem: usersError })];
  const unknown = unknownUsers(wanted.values, users);
  return unknown.length === 0
    ? ["", ""]
    : ["users", message("RULE_USERS_UNKNOWN", { users: unknown.join(", ") })];
}

/**
 * Finds the row of each rule, and rows without a rule. A rule is identified by its path: a row that
 * was moved on the site is another rule there.
 */
export function identifyRules(
  rows: readonly RuleRow[],
  wanted: readonly WantedRule[],
  known: ReadonlyMap<string, RuleState>,
): { readonly jobs: readonly RuleJob[]; readonly extra: readonly RuleRow[] } {
  const byPath = new Map(rows.map((row) => [row.path, row]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const names = new Set(wanted.map(({ name }) => name));
  /** Last known row of a rule that Mooring manages, if it is still at its path. */
  const lastOf = (state: RuleState): RuleRow | undefined => {
    if (!isManaged(state)) return undefined;
    const row = state.creating ? byPath.get(state.path) : byId.get(state.id);
    return row?.path === state.path ? row : undefined;
  };
  const lasts = new Map(
    wanted.flatMap(({ name }) => {
      const last = lastOf(known.get(name) ?? NEW_RULE);
      return last === undefined ? [] : [[name, last] as const];
    }),
  );
  const owners = new Map([...lasts].map(([name, row]) => [row.id, name]));
  /** Rows of rules that were moved to another name, by their ids. */
  const left = new Map(
    [...known].flatMap(([name, state]) => {
      const row = names.has(name) ? undefined : lastOf(state);
      return row === undefined ? [] : [[row.id, state] as const];
    }),
  );
  const jobs = wanted.map((rule): RuleJob => {
    const last = lasts.get(rule.name);
    const there = byPath.get(rule.path);
    const owner = there && owners.get(there.id);
    const isTaken =
      there !== undefined &&
      ((owner !== undefined && owner !== rule.name) || (last !== undefined && last !== there));
    const row = last ?? (isTaken ? undefined : there);
    const before = known.get(rule.name) ?? left.get(row?.id ?? 0) ?? NEW_RULE;
    return { name: rule.name, before, wanted: rule, row, isTaken };
  });
  const taken = new Set(jobs.flatMap(({ row }) => (row ? [row.id] : [])));
  for (const [name, state] of known) {
    if (names.has(name)) continue;
    const row = lastOf(state);
    const isFree = row !== undefined && !taken.has(row.id);
    const job = { name, before: state, wanted: undefined, isTaken: false };
    jobs.push({ ...job, row: isFree ? row : undefined });
    if (isFree) taken.add(row.id);
  }
  return { jobs, extra: rows.filter(({ id }) => !taken.has(id)) };
}
