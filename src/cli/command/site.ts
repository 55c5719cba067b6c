import { create } from "@bufbuild/protobuf";
import { IncidentSubject } from "../../../gen/mooring/v1/incident_pb.js";
import { type SiteInput, SiteInputSchema } from "../../../gen/mooring/v1/site_pb.js";
import {
  AdoptSiteResponseSchema,
  CheckSiteResponseSchema,
  CompareSiteResponseSchema,
  CreateSiteResponseSchema,
  DeleteSiteResponseSchema,
  ListSiteLogResponseSchema,
  ListSitesResponseSchema,
  SiteService,
  SyncSiteResponseSchema,
  UpdateSiteResponseSchema,
  WatchSitesResponseSchema,
} from "../../../gen/mooring/v1/site_service_pb.js";
import { count, counted, countedDiffers, refuseRepeated } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { checkDays, legend, readStrips, stripText } from "../day-strip.ts";
import { confirmed, effectLine, writeResults as writeRecordResults } from "../effect.ts";
import { CliFailure, EXIT } from "../failure.ts";
import { printEvents } from "../follow.ts";
import { longCall } from "../long-call.ts";
import { printableLine } from "../output.ts";
import { canAsk, confirm } from "../prompt.ts";
import {
  authority,
  differenceCount,
  noteOf,
  readMember,
  siteToken,
  writeDifferences,
  writeLog,
  writeResults,
  writeSites,
} from "../site.ts";
import { timeLimit } from "../time-limit.ts";

const actions: Readonly<Record<string, Action>> = {
  add: { count: 2, instead: "--site-token-file PATH for the token", act: add },
  list: { count: 0, act: list },
  check: { count: 1, act: check },
  compare: { count: 1, act: compare },
  adopt: { count: [1, 1_000], act: adopt },
  sync: { count: [1, 1_000], act: sync },
  set: { count: [1, 100], act: set },
  log: { count: 1, act: log },
  watch: { count: 0, act: watch },
  remove: { count: 1, removes: true, act: remove },
};

export const siteCommand: Command = {
  name: "site",
  actions,
  usage: [
    "site add NAME URL [--site-token-file PATH] [--ca-file PATH]",
    "site list [--days]",
    "site check NAME",
    "site compare NAME [--all]",
    "site adopt NAME [KEY...] [--dry-run] [--yes]",
    "site sync NAME [KEY...] [--dry-run] [--connect-downloaders] [--yes]",
    "site set NAME MEMBER=VALUE... [--site-token-file PATH] [--ca-file PATH]",
    "site set NAME MEMBER=VALUE... [--dry-run] [--yes]",
    "site log NAME [-n N]",
    "site watch",
    "site remove NAME [--dry-run] [--yes]",
  ],
  summary: "Manage running OpenList and AList servers with these settings",
  details: [
    "add reads the settings of a server and writes nothing there. compare prints the",
    "differences; adopt copies the server's values to Mooring, sync copies Mooring's",
    "values to the server. After one of these two, set NAME mode=follow sends it every",
    "change. Members of set: mode (follow, observe), paused (true, false), name, url,",
    "include and exclude (keys, patterns with *, group:N; separated by commas),",
    "certificate_sha256, override:KEY=VALUE for a site's own value, and override:KEY to",
    "remove it. The server's token is read from a file, from standard input (-), or",
    "typed; never from the command line, which a process list shows.",
  ],
  flags: [
    "all",
    "ca-file",
    "connect-downloaders",
    "days",
    "dry-run",
    "limit",
    "reason",
    "site-token-file",
    "yes",
  ],
  offline: false,
  positionals: [1, 1_001],
  run: (run) => runAction(siteCommand, run),
};

const TIME_LIMIT = 180_000;
/** Note of the error after Ctrl-C has ended an adoption or a sync. */
const INTERRUPT_NOTE = '"mooring site compare" shows what is left';

async function add(run: CommandRun, [name = "", url = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo, notice } = run;
  const token = await siteToken(run, true);
  const site = create(SiteInputSchema, { name, url, ...token, ...(await authority(run)) });
  const reply = await (await connectTo(SiteService)).createSite(
    { site },
    timeLimit(run, TIME_LIMIT),
  );
  if (args.is("json")) return output.json(CreateSiteResponseSchema, reply);
  const { status } = reply.site ?? {};
  const number = status?.drift.length ?? 0;
  const version = printableLine(status?.version ?? "");
  await output.write(
    `${name}: ${status?.kind} ${version} answers; ${countedDiffers(number, "setting")} there\n`,
  );
  notice(`nothing was written there: "mooring site compare ${name}" shows what differs`);
}

async function list(run: CommandRun): Promise<void> {
  const { args, output, connectTo, notice } = run;
  checkDays(run);
  const reply = await (await connectTo(SiteService)).listSites({});
  if (args.is("json")) return output.json(ListSitesResponseSchema, reply);
  if (reply.sites.length === 0) return notice("there are no sites: mooring site add NAME URL");
  if (!args.is("days")) return writeSites(output, reply.sites, reply.revision);
  const { items } = await readStrips(run, { subject: IncidentSubject.SITE });
  const strips = new Map(items.map((strip) => [strip.site, stripText(run, strip)]));
  await writeSites(output, reply.sites, reply.revision, strips);
  notice(legend(run));
}

async function check(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo } = run;
  const reply = await (await connectTo(SiteService)).checkSite(
    { name },
    timeLimit(run, TIME_LIMIT),
  );
  if (args.is("json")) return output.json(CheckSiteResponseSchema, reply);
  const { site } = reply;
  if (site === undefined) return;
  const { kind, version, state, remedy = "" } = site.status ?? {};
  const note = noteOf(site);
  const line = `${name}: ${kind} ${version}, ${state}${note === "" ? "" : ` (${note})`}`;
  await output.write(`${printableLine(line)}\n`);
  if (remedy !== "") await output.write(`${printableLine(remedy)}\n`);
}

async function compare(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo } = run;
  const reply = await (await connectTo(SiteService)).compareSite(
    { name, all: args.is("all") },
    timeLimit(run, TIME_LIMIT),
  );
  if (args.is("json")) return output.json(CompareSiteResponseSchema, reply);
  await writeDifferences(output, reply.differences);
  await output.write(`${differenceCount(reply.differences)}\n`);
}

async function adopt(run: CommandRun, [name = "", ...keys]: readonly string[]): Promise<void> {
  const { args, output, connectTo, errors, world } = run;
  const client = await connectTo(SiteService);
  const request = { name, keys, reason: args.text("reason") ?? "" };
  if (canAsk(world) && !args.is("yes") && !args.is("dry-run")) {
    const preview = await client.adoptSite(
      { ...request, dryRun: true },
      timeLimit(run, TIME_LIMIT),
    );
    await writeResults(errors, preview.results);
    if (preview.results.length > 0) await agree(run, `Adopt these values from ${name}?`);
  }
  const dryRun = args.is("dry-run");
  const reply = await longCall(
    run,
    { work: "adoption", interruptNote: INTERRUPT_NOTE, timeoutMs: TIME_LIMIT },
    (options) => client.adoptSite({ ...request, dryRun }, options),
  );
  if (args.is("json")) return output.json(AdoptSiteResponseSchema, reply);
  await writeResults(output, reply.results);
  const taken = reply.results.filter(({ outcome }) => outcome === "changed" || outcome === "added");
  await output.write(
    dryRun
      ? `dry run: ${counted(taken.length, "setting")} would be adopted from ${name}\n`
      : `adopted from ${name}: ${counted(taken.length, "setting")}, revision ${reply.revision}\n`,
  );
}

async function sync(run: CommandRun, [name = "", ...keys]: readonly string[]): Promise<void> {
  const { args, output, connectTo, errors, world } = run;
  const client = await connectTo(SiteService);
  const request = { name, keys, connectDownloaders: args.is("connect-downloaders") };
  if (canAsk(world) && !args.is("yes") && !args.is("dry-run")) {
    const { differences } = await client.syncSite(
      { ...request, dryRun: true },
      timeLimit(run, TIME_LIMIT),
    );
    await writeDifferences(errors, differences);
    if (differences.length > 0) await agree(run, `Write these values to ${name}?`);
  }
  const dryRun = args.is("dry-run");
  const reply = await longCall(
    run,
    { work: "sync", interruptNote: INTERRUPT_NOTE, timeoutMs: TIME_LIMIT },
    (options) => client.syncSite({ ...request, dryRun }, options),
  );
  if (args.is("json")) return output.json(SyncSiteResponseSchema, reply);
  if (dryRun) {
    await writeDifferences(output, reply.differences);
    return output.write(`dry run: ${differenceCount(reply.differences)} at ${name}\n`);
  }
  await writeResults(output, reply.results);
  if (reply.connected.length > 0) await output.write(`connected: ${reply.connected.join(", ")}\n`);
  const there = reply.results.filter(({ outcome }) => outcome === "applied").length;
  await output.write(`${name}: ${counted(there, "setting")} written, revision ${reply.revision}\n`);
  if (reply.differences.length > 0)
    throw new CliFailure(
      EXIT.refused,
      `after the sync, ${countedDiffers(reply.differences.length, "setting")} at ${name}`,
      reply.differences.map(({ key, note }) => (note === "" ? key : `${key}: ${note}`)),
    );
}

async function set(run: CommandRun, [name = "", ...members]: readonly string[]): Promise<void> {
  const { args, output, connectTo, notice } = run;
  refuseRepeated(members);
  const client = await connectTo(SiteService);
  const { site: before } = await client.getSite({ name });
  const input = create(SiteInputSchema, {
    ...(await siteToken(run, false)),
    ...(await authority(run)),
  });
  const overrides = { ...before?.overrides };
  for (const member of members) readMember(member, input, overrides);
  if (members.some((member) => member.startsWith("override:")))
    input.overrides = create(SiteInputSchema, { overrides: { values: overrides } })
      .overrides as NonNullable<SiteInput["overrides"]>;
  // The overrides are sent as a whole: those of another client are not replaced.
  const request = { name, site: input, ...(before && { expectedEtag: before.etag }) };
  const reply = await confirmed(run, async (dryRun) => {
    const answer = await client.updateSite({ ...request, dryRun }, timeLimit(run, TIME_LIMIT));
    return { ...answer, results: answer.records };
  });
  if (args.is("json")) return output.json(UpdateSiteResponseSchema, reply);
  const { revision } = await client.listSites({});
  if (reply.site !== undefined) await writeSites(output, [reply.site], revision);
  for (const effect of reply.records.flatMap(({ effects }) => effects)) notice(effectLine(effect));
  if (args.is("dry-run")) notice("nothing was changed");
}

async function log(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, connectTo, notice } = run;
  const pageSize = count(args.text("limit") ?? "20", "--limit", 1_000);
  const reply = await (await connectTo(SiteService)).listSiteLog({ name, pageSize });
  if (args.is("json")) return output.json(ListSiteLogResponseSchema, reply);
  if (reply.entries.length === 0) return notice(`nothing was done on ${name} yet`);
  await writeLog(output, reply.entries);
}

async function watch(run: CommandRun): Promise<void> {
  const { args, output, connectTo } = run;
  const client = await connectTo(SiteService);
  await printEvents(run, {
    // Sites have no history: each stream begins with all of them.
    open: (_after, options) => client.watchSites({}, options),
    write: async (event) => {
      if (args.is("json")) return output.jsonLine(WatchSitesResponseSchema, event);
      if (event.sites.length > 0) await writeSites(output, event.sites, event.revision);
      for (const name of event.removed) await output.write(`${name}: removed\n`);
    },
  });
}

async function remove(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, connectTo, errors, output, world } = run;
  const client = await connectTo(SiteService);
  if (canAsk(world) && !args.is("yes") && !args.is("dry-run")) {
    const { records } = await client.deleteSite({ name, dryRun: true }, timeLimit(run, TIME_LIMIT));
    await writeRecordResults(errors, records);
    await agree(run, `Remove ${name}? Nothing changes on the site.`);
  }
  const dryRun = args.is("dry-run");
  const reply = await client.deleteSite({ name, dryRun }, timeLimit(run, TIME_LIMIT));
  if (args.is("json")) return output.json(DeleteSiteResponseSchema, reply);
  await writeRecordResults(output, reply.records);
  await output.write(
    dryRun
      ? `dry run: ${name} would be removed\n`
      : `${name}: removed; its settings, mounts and rules are not changed\n`,
  );
}

async function agree({ args, world }: CommandRun, question: string): Promise<void> {
  if (args.is("yes") || !canAsk(world)) return;
  if (!(await confirm(world, question))) throw new CliFailure(EXIT.failed, "nothing was changed");
}
