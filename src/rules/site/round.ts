import type { Text } from "../../messages/message.ts";
import { setOwn } from "../../own-value.ts";
import { SiteFailure } from "../../sync/failure.ts";
import { LeaseLost, type RoundOptions } from "../../sync/record-sync.ts";
import { createTicks } from "../../ticks.ts";
import type { WantedRule } from "../rule.ts";
import { applyRule, confirmCreated, type RuleStep } from "./apply.ts";
import type { RuleClient } from "./client.ts";
import { createRuleAbove, type RuleAbove } from "./deletion.ts";
import { identifyRules, planRule, type RuleJob, type SiteFacts } from "./plan.ts";
import { hasUsers, namesUsers, type RuleRow, type SiteUsers, userIdsOf } from "./row.ts";
import type { RuleRegistry, RuleState } from "./state.ts";

export interface RuleRoundDeps {
  readonly client: RuleClient;
  readonly registry: RuleRegistry;
  readonly now: () => number;
  /** Desired rules of the site. */
  readonly wanted: () => readonly WantedRule[];
  /** Whether the server is known to lack lists of users. */
  readonly lacksUsers: () => boolean;
  /** Resolves when work on the next rule may start, after other work of the process. */
  readonly rateLimit: () => Promise<void>;
  /** Reports whether this process may still write to the site. */
  readonly mayWrite: () => boolean;
  /** Reports whether the site follows now, so that rules are written without a request. */
  readonly follows: () => boolean;
}

/** Result of a round for one rule. */
export interface RuleDone {
  readonly name: string;
  readonly path: string;
  /** Undefined: no call was made. */
  readonly step: RuleStep | undefined;
  /** Whether the rule was changed on the site, and corrected. */
  readonly drifted: boolean;
  /** Empty: no error. */
  readonly error: Text;
}

/** Result of a round. */
export interface RuleRound {
  readonly rows: readonly RuleRow[];
  /** Rows that Mooring does not manage. */
  readonly extra: readonly RuleRow[];
  readonly users: SiteUsers | undefined;
  readonly done: readonly RuleDone[];
  /** New states of the rules, by name. */
  readonly states: Readonly<Record<string, RuleState | undefined>>;
}

/** Maximum number of unmanaged rules of a site whose paths are stored. */
const MAX_EXTRA = 1_000;
/** Interval of storing the time of a read that has found nothing new, in milliseconds. */
const READ_TIME_INTERVAL = 150_000;

/**
 * Reads the list of a site's rules once, and creates, updates and deletes rules until they are as
 * desired. Rules are created before others are deleted: a moved one protects its new path first.
 *
 * @throws SiteFailure when the site can't be reached; LeaseLost; ServiceError of the database.
 */
export async function runRuleRound(
  { siteId, aim, forced }: RoundOptions,
  deps: RuleRoundDeps,
): Promise<RuleRound> {
  const { client, registry, now } = deps;
  const rows = await client.list();
  const before = registry.site(siteId);
  const contacted = before.contacted || rows.length === 0 || forced.length > 0;
  const { jobs, extra } = identifyRules(rows, deps.wanted(), registry.records(siteId));
  const facts = await readFacts(rows, jobs, deps);
  // A process that ends in the round has created rules, which are no reason to wait for an adoption.
  if (contacted && !before.contacted)
    await registry.put(siteId, { site: { ...before, contacted } });
  const requested = new Set(forced);
  const states: Record<string, RuleState | undefined> = {};
  const done: RuleDone[] = [];
  const created: { readonly job: RuleJob; readonly state: RuleState }[] = [];
  let above: RuleAbove | undefined;
  const ticks = createTicks();
  for (const job of inOrder(jobs)) {
    if (ticks.isDue()) await ticks.next();
    const { name } = job;
    const isRequested = requested.has(name);
    // The site may have been set to observe since the round began.
    const isWritable = aim === "push" && contacted && (isRequested || deps.follows());
    const plan = planRule(job, { ...facts, isWritable, isRequested });
    if (plan.do === "record") {
      setOwn(states, name, plan.state);
      note(job, plan.state, undefined, false);
      continue;
    }
    await deps.rateLimit();
    const persist = async (state: RuleState): Promise<void> => {
      if (!deps.mayWrite()) throw new LeaseLost();
      await registry.put(siteId, { records: { [name]: state } });
    };
    // Deletions come last: the rows have the rules that were written before.
    if (plan.do === "delete") above ??= createRuleAbove(await client.list(), deletedOf(jobs));
    const applied = await applyRule(plan, job, {
      client,
      users: facts.users,
      now,
      above: (path) => above?.(path),
      persist,
    });
    setOwn(states, name, applied.state);
    if (plan.do === "create" && applied.state?.creating === true)
      created.push({ job, state: applied.state });
    note(job, applied.state, applied.isDone ? plan.do : undefined, plan.drifted);
    if (plan.do !== "create") await registry.put(siteId, { records: { [name]: applied.state } });
  }
  await confirmAll(created, states, { ...deps, users: facts.users });
  const rest =
    forced.length === 0 ? before.forced : before.forced.filter((name) => !requested.has(name));
  const isSettled = done.length === 0 && Math.abs(now() - before.readAt) < READ_TIME_INTERVAL;
  await registry.put(siteId, {
    records: states,
    site: {
      contacted,
      forced: rest,
      extra: extra.slice(0, MAX_EXTRA).map(({ path }) => path),
      // An idle round writes nothing.
      readAt: isSettled ? before.readAt : now(),
      error: "",
      errorKind: "",
      errorSince: 0,
      failures: 0,
      nextTry: 0,
    },
  });
  return { rows, extra, users: facts.users, done, states };

  function note(
    { name, wanted, before: earlier }: RuleJob,
    state: RuleState | undefined,
    step: RuleStep | undefined,
    drifted: boolean,
  ): void {
    const error = state?.error ?? "";
    if (step === undefined && String(error) === String(earlier.error)) return;
    const path = wanted?.path ?? earlier.path;
    done.push({ name, path, step, drifted, error });
  }
}

/** Ids of the rows of rules that Mooring does not have any more. */
function deletedOf(jobs: readonly RuleJob[]): ReadonlySet<number> {
  return new Set(jobs.flatMap(({ wanted, row }) => (wanted === undefined && row ? [row.id] : [])));
}

/** Rules with earlier failures come last, deletions after all others. */
function inOrder(jobs: readonly RuleJob[]): readonly RuleJob[] {
  const rank = ({ wanted, before }: RuleJob): number =>
    (wanted === undefined ? 1_000_000 : 0) + before.failures;
  return jobs.toSorted((a, b) => rank(a) - rank(b));
}

/** Reads the rows of created rules, whose ids the server does not return. */
async function confirmAll(
  created: readonly { readonly job: RuleJob; readonly state: RuleState }[],
  states: Record<string, RuleState | undefined>,
  deps: Pick<RuleRoundDeps, "client" | "now"> & { readonly users: SiteUsers | undefined },
): Promise<void> {
  if (created.length === 0) return;
  const byPath = new Map((await deps.client.list()).map((row) => [row.path, row]));
  for (const { job, state } of created)
    if (job.wanted !== undefined) {
      const row = byPath.get(job.wanted.path);
      setOwn(states, job.name, await confirmCreated(state, job.wanted, row, deps));
    }
}

/** Reads what the plans need to know of the site. Users are read only if a rule names some. */
async function readFacts(
  rows: readonly RuleRow[],
  jobs: readonly RuleJob[],
  { client, now, lacksUsers }: Pick<RuleRoundDeps, "client" | "now" | "lacksUsers">,
): Promise<SiteFacts> {
  const shown = rows.length > 0 ? rows.every(hasUsers) : lacksUsers() ? false : undefined;
  const facts = { users: undefined, usersError: "", hasUsers: shown, now: now() };
  const isNeeded =
    rows.some((row) => userIdsOf(row).length > 0) ||
    jobs.some(({ wanted }) => wanted !== undefined && namesUsers(wanted.values));
  if (!isNeeded || shown === false) return facts;
  try {
    return { ...facts, users: await client.users() };
  } catch (error) {
    // The other rules do not need them; a site that does not answer ends the round.
    if (!(error instanceof SiteFailure) || !ABOUT_LIST.has(error.kind)) throw error;
    return { ...facts, usersError: error.text };
  }
}

/** Failures of one list of a site that answers. */
const ABOUT_LIST: ReadonlySet<string> = new Set(["refused", "foreign", "too_large"]);
