import { create } from "@bufbuild/protobuf";
import {
  type RuleInput,
  RuleInputSchema,
  type RuleResult,
} from "../../../gen/mooring/v1/rule_pb.js";
import {
  AdoptRulesResponseSchema,
  CompareRulesResponseSchema,
  DeleteRulesResponseSchema,
  GetRuleResponseSchema,
  ListRulesResponseSchema,
  MoveRuleResponseSchema,
  RuleService,
  SaveRulesResponseSchema,
  SyncRulesResponseSchema,
  WatchRulesResponseSchema,
} from "../../../gen/mooring/v1/rule_service_pb.js";
import { counted } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { agreeToEffects, confirmed, writeResults } from "../effect.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { printEvents } from "../follow.ts";
import { longCall } from "../long-call.ts";
import { expandPatterns } from "../name-pattern.ts";
import { readPages } from "../pages.ts";
import { canAsk } from "../prompt.ts";
import { readRuleMembers, writeRule, writeRuleStatus, writeRules } from "../rule.ts";
import { notePendingSites } from "../saved.ts";
import { timeLimit } from "../time-limit.ts";

const actions: Readonly<Record<string, Action>> = {
  list: { count: 0, instead: "--site NAME", act: list },
  get: { count: 1, act: get },
  create: { count: [1, 500], act: createOne },
  set: { count: [1, 500], act: set },
  move: { count: 2, act: move },
  delete: { count: [1, 500], act: remove },
  compare: { count: 1, act: compare },
  sync: { count: [1, 501], act: sync },
  adopt: { count: [1, 501], act: adopt },
  watch: { count: 0, act: watch },
};

export const ruleCommand: Command = {
  name: "rule",
  actions,
  usage: [
    "rule list [--site NAME]",
    "rule get PATH [--reveal]",
    "rule create PATH [MEMBER=VALUE...] [--dry-run]",
    "rule set PATH MEMBER=VALUE... [--dry-run] [--yes]",
    "rule move PATH NEW-PATH [--dry-run] [--yes]",
    "rule delete PATH|PATTERN... [--dry-run] [--yes]",
    "rule compare SITE",
    "rule sync SITE [PATH...] [--yes]",
    "rule adopt SITE [PATH...] [--dry-run] [--yes] [--accept-loss]",
    "rule watch",
  ],
  summary: "Manage folder rules of sites, also called metas",
  details: [
    "MEMBER is password, write, hide, readme, header, read_users, write_users (names of",
    "users with commas), one of their switches for sub-folders (p_sub, w_sub, h_sub,",
    "r_sub, header_sub, read_users_sub, write_users_sub), or sites (names, all or none;",
    "required for a new rule when there are several sites). MEMBER@SITE=VALUE is a value",
    "of one site, path@SITE its path there, and MEMBER@SITE alone removes it. MEMBER=",
    "empties a member. MEMBER=@PATH reads it from a file, MEMBER=@- from standard input:",
    "use these for the password, because a process list shows arguments. compare prints",
    "what sync would change; adopt copies a server's rules to Mooring, and exits with 4",
    "when it skips one. A change of a rule on a running server asks first; without a",
    "terminal, one that removes a rule or opens a folder needs --yes. delete takes",
    "patterns in quotes ('/old/*') and shows what they match.",
  ],
  flags: ["accept-loss", "dry-run", "reason", "reveal", "site", "yes"],
  offline: false,
  positionals: [1, 502],
  run: (run) => runAction(ruleCommand, run),
};

/** Time limit in milliseconds: a site may take a while. */
const TIME_LIMIT = 60_000;
/** Note of the error after Ctrl-C has ended an adoption or a sync. */
const INTERRUPT_NOTE = '"mooring rule compare" shows what is left';

const client = (run: CommandRun) => run.connectTo(RuleService);

/** Results by the names that `agreeToEffects` and `writeResults` expect. */
const named = (results: readonly RuleResult[]) =>
  results.map(({ path: name, ...rest }) => ({ ...rest, name }));

async function list(run: CommandRun): Promise<void> {
  const { args, output, notice } = run;
  const items = await allRules(run, args.text("site") ?? "");
  if (args.is("json"))
    return output.json(ListRulesResponseSchema, create(ListRulesResponseSchema, { rules: items }));
  if (items.length === 0)
    return notice("there are no rules: mooring rule create, or mooring rule adopt SITE");
  await writeRules(output, items);
}

/** All rules that the token may read. @param site empty: of all sites. */
async function allRules(run: CommandRun, site = "") {
  const rules = await client(run);
  const { items } = await readPages(Number.POSITIVE_INFINITY, async (page) => {
    const reply = await rules.listRules({ site, ...page });
    return { items: reply.rules, next: reply.nextPageToken };
  });
  return items;
}

async function get(run: CommandRun, [path = ""]: readonly string[]): Promise<void> {
  const { args, output } = run;
  const reply = await (await client(run)).getRule({ path, reveal: args.is("reveal") });
  if (args.is("json")) return output.json(GetRuleResponseSchema, reply);
  if (reply.rule !== undefined) await writeRule(output, reply.rule);
}

async function createOne(
  run: CommandRun,
  [path = "", ...members]: readonly string[],
): Promise<void> {
  const input = create(RuleInputSchema, { path, expectedEtag: "0" });
  await readRuleMembers(run, input, members);
  await save(run, input);
}

async function set(run: CommandRun, [path = "", ...members]: readonly string[]): Promise<void> {
  if (members.length === 0) throw usage("rule set: MEMBER=VALUE is missing");
  const { rule } = await (await client(run)).getRule({ path });
  const input = create(RuleInputSchema, { path });
  await readRuleMembers(run, input, members, rule);
  await save(run, input);
}

async function save(run: CommandRun, input: RuleInput): Promise<void> {
  const { args, output, notice } = run;
  const rules = await client(run);
  const request = { rules: [input], reason: run.args.text("reason") ?? "" };
  const change = async (dryRun: boolean) => {
    const reply = await rules.saveRules({ ...request, dryRun });
    return { reply, results: named(reply.results) };
  };
  const { reply, results } = await confirmed(run, change);
  if (args.is("json")) return output.json(SaveRulesResponseSchema, reply);
  await writeResults(output, results);
  if (args.is("dry-run")) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
}

async function move(run: CommandRun, [path = "", newPath = ""]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const rules = await client(run);
  const request = { path, newPath, reason: run.args.text("reason") ?? "" };
  const change = async (dryRun: boolean) => {
    const reply = await rules.moveRule({ ...request, dryRun });
    // The rule is not deleted here: it has another path.
    const results = named(reply.results);
    return {
      reply,
      results: results.map((each) => ({ ...each, outcome: "changed" })),
      shown: results,
    };
  };
  const { reply, shown } = await confirmed(run, change);
  if (args.is("json")) return output.json(MoveRuleResponseSchema, reply);
  await writeResults(output, shown);
  if (args.is("dry-run")) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
}

async function remove(run: CommandRun, given: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const rules = await client(run);
  const list = async () => (await allRules(run)).map(({ path }) => ({ name: path, path }));
  const paths = await expandPatterns(run, given, { noun: "rule", list });
  const request = { paths: [...paths], reason: run.args.text("reason") ?? "" };
  const change = async (dryRun: boolean) => {
    const reply = await rules.deleteRules({ ...request, dryRun });
    return { reply, results: named(reply.results) };
  };
  const question = `Delete ${paths.join(", ")} here and on the sites that follow?`;
  const { reply, results } = await confirmed(run, change, question);
  if (args.is("json")) return output.json(DeleteRulesResponseSchema, reply);
  await writeResults(output, results);
  if (args.is("dry-run")) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
}

async function compare(run: CommandRun, [site = ""]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const reply = await (await client(run)).compareRules({ site }, timeLimit(run, TIME_LIMIT));
  if (args.is("json")) return output.json(CompareRulesResponseSchema, reply);
  const open = named(reply.results).filter(({ outcome }) => outcome !== "unchanged");
  if (open.length === 0) return notice(`the rules of ${site} are equal to those here`);
  await writeResults(output, open);
}

async function sync(run: CommandRun, [site = "", ...paths]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const rules = await client(run);
  const plan = args.is("yes")
    ? []
    : named((await rules.compareRules({ site }, timeLimit(run, TIME_LIMIT))).results).filter(
        ({ name }) => paths.length === 0 || paths.includes(name),
      );
  const what = paths.length === 0 ? "all rules" : paths.join(", ");
  await agreeToEffects(run, plan, `Bring ${what} to ${site}?`);
  const reply = await longCall(
    run,
    { work: "sync", interruptNote: INTERRUPT_NOTE, timeoutMs: TIME_LIMIT },
    (options) => rules.syncRules({ site, paths }, options),
  );
  if (args.is("json")) await output.json(SyncRulesResponseSchema, reply);
  else if (reply.status.length === 0) notice(`no rule is assigned to ${site}`);
  else await writeRuleStatus(output, reply.status);
  const bad = reply.status.filter(({ state }) => state !== "ok");
  if (bad.length > 0)
    throw new CliFailure(EXIT.refused, "some rules are not on the site", [
      ...new Set(bad.map(({ remedy }) => remedy).filter((text) => text !== "")),
    ]);
}

async function adopt(run: CommandRun, [site = "", ...paths]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const rules = await client(run);
  const dryRun = args.is("dry-run");
  const request = { site, paths, reason: run.args.text("reason") ?? "" };
  if (!dryRun && !args.is("yes")) {
    const preview = await rules.adoptRules(
      { ...request, dryRun: true },
      timeLimit(run, TIME_LIMIT),
    );
    const results = named(preview.results);
    if (canAsk(run.world)) await writeResults(output, results);
    await agreeToEffects(run, results, "Take these as Mooring's?");
  }
  const reply = await longCall(
    run,
    { work: "adoption", interruptNote: INTERRUPT_NOTE, timeoutMs: TIME_LIMIT },
    (options) => rules.adoptRules({ ...request, dryRun }, options),
  );
  if (args.is("json")) return output.json(AdoptRulesResponseSchema, reply);
  if (reply.results.length === 0) return notice(`the rules of ${site} are equal to those here`);
  await writeResults(output, named(reply.results));
  if (dryRun) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
  const skipped = reply.results.filter(({ outcome }) => outcome === "skipped").length;
  if (skipped > 0 && !args.is("accept-loss"))
    throw new CliFailure(
      EXIT.refused,
      `${counted(skipped, "rule")} skipped (--accept-loss: exit with 0)`,
    );
}

async function watch(run: CommandRun): Promise<void> {
  const { args, output } = run;
  const rules = await client(run);
  await printEvents(run, {
    // Each stream begins with all rules.
    open: (_after, options) => rules.watchRules({}, options),
    write: async (event) => {
      if (args.is("json")) return output.jsonLine(WatchRulesResponseSchema, event);
      if (event.rules.length > 0) await writeRules(output, event.rules);
      for (const path of event.removed) await output.write(`${path}: deleted\n`);
    },
  });
}
