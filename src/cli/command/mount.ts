import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Mount,
  type MountInput,
  MountInputSchema,
  type MountResult,
  type MountStatus,
} from "../../../gen/mooring/v1/mount_pb.js";
import {
  AdoptMountsResponseSchema,
  CompareMountsResponseSchema,
  CopyMountResponseSchema,
  DeleteMountsResponseSchema,
  GetMountResponseSchema,
  ListMountsResponseSchema,
  MountService,
  RenameMountResponseSchema,
  ReplaceCredentialResponseSchema,
  SaveMountsResponseSchema,
  SyncMountsResponseSchema,
  TestMountsResponseSchema,
  WatchMountsResponseSchema,
} from "../../../gen/mooring/v1/mount_service_pb.js";
import { exportArchive, importArchive } from "../archive.ts";
import { counted } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { checkDays, legend, readStrips, stripText } from "../day-strip.ts";
import { agreeToEffects, confirmed, writeResults } from "../effect.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { writeNewFile } from "../file.ts";
import { printEvents } from "../follow.ts";
import { longCall } from "../long-call.ts";
import {
  readItem,
  readMountMembers,
  writeMount,
  writeMounts,
  writeStatus,
  writeTests,
} from "../mount.ts";
import { expandPatterns } from "../name-pattern.ts";
import { readPages } from "../pages.ts";
import { canAsk } from "../prompt.ts";
import { notePendingSites } from "../saved.ts";
import { timeLimit } from "../time-limit.ts";

const actions: Readonly<Record<string, Action>> = {
  list: { count: 0, instead: "--site NAME", act: list },
  get: { count: 1, act: get },
  create: { count: [3, 500], act: createOne },
  set: { count: [1, 500], act: set },
  replace: { count: 2, act: replace },
  copy: { count: 3, act: copy },
  rename: { count: 2, act: rename },
  delete: { count: [1, 500], act: remove },
  compare: { count: 1, act: compare },
  sync: { count: [1, 501], act: sync },
  test: { count: [0, 500], act: test },
  adopt: { count: [1, 501], act: adopt },
  rollback: { count: [1, 501], act: rollback },
  import: { count: 1, act: importFile },
  export: { count: [0, 500], act: exportAll },
  watch: { count: 0, act: watch },
};

export const mountCommand: Command = {
  name: "mount",
  actions,
  usage: [
    "mount list [--site NAME]",
    "mount get NAME [--reveal] [--days]",
    "mount create NAME PATH DRIVER [ITEM=VALUE...] [--dry-run]",
    "mount set NAME ITEM=VALUE... [--dry-run] [--yes]",
    "mount replace NAME ITEM=VALUE [--dry-run] [--yes]",
    "mount copy NAME NEW-NAME PATH",
    "mount rename NAME NEW-NAME",
    "mount delete NAME|PATTERN... [--dry-run] [--yes]",
    "mount compare SITE",
    "mount sync SITE [NAME...] [--yes]",
    "mount test NAME|PATTERN...|--all [--site NAME]",
    "mount adopt SITE [NAME...] [--dry-run] [--yes] [--accept-loss]",
    "mount import FILE [--site NAMES] [--dry-run] [--yes] [--accept-loss]",
    "mount import FILE [--replace-secrets] [--allow-shared-credential] [--table NAME]",
    "mount export [NAME...] [--secrets MODE] [--output PATH]",
    "mount export [NAME...] --site NAME [--reveal] [--output PATH]",
    "mount watch",
  ],
  summary: "Manage mounts of sites, also called storages",
  details: [
    "ITEM is an item of the driver or a member of every mount (order, remark, ...), or",
    "path, disabled, content and sites (names, all or none; required for a new mount",
    "when there are several sites). ITEM@SITE=VALUE is a value of one site, and",
    "ITEM alone removes a value. ITEM=@PATH reads it from a file, ITEM=@- from standard",
    "input: use these for secrets, because a process list shows arguments. compare",
    "prints what sync would change; sync also mounts failing mounts again; test lists",
    "mounts at their providers now. adopt copies a server's mounts to Mooring. replace",
    "replaces an item's value in every mount that has the same value. import and export",
    "are those of the whole site with --only mounts, so that stored secrets stay unless",
    "--replace-secrets is given; export with --site writes rows for",
    "the backup page of that site's server. import and adopt exit with 4 when they skip",
    "a mount or cannot keep a value. A change that removes, disables or remounts",
    "something on a running server asks first; without a terminal, removals and",
    "disabling need --yes. delete and test take patterns in quotes ('films*', '/old/*')",
    "and show what they match.",
  ],
  flags: [
    "accept-loss",
    "all",
    "allow-shared-credential",
    "days",
    "dry-run",
    "force",
    "output",
    "passphrase-file",
    "reason",
    "replace-secrets",
    "reveal",
    "secrets",
    "site",
    "table",
    "yes",
  ],
  offline: false,
  positionals: [1, 502],
  run: (run) => runAction(mountCommand, run),
};

/** Time limit in milliseconds: creating a mount may take a site two minutes. */
const TIME_LIMIT = 180_000;
/** Note of the error after Ctrl-C has ended an adoption or a sync. */
const INTERRUPT_NOTE = '"mooring mount compare" shows what is left';

/** Time limit in milliseconds of a test: its last listing begins after at most 150 s. */
const TEST_TIME_LIMIT = 300_000;

const client = (run: CommandRun) => run.connectTo(MountService);

async function list(run: CommandRun): Promise<void> {
  const { args, output, notice } = run;
  const mounts = await client(run);
  const site = args.text("site") ?? "";
  const { items } = await readPages(Number.POSITIVE_INFINITY, async (page) => {
    const reply = await mounts.listMounts({ site, ...page });
    return { items: reply.mounts, next: reply.nextPageToken };
  });
  if (args.is("json"))
    return output.json(
      ListMountsResponseSchema,
      create(ListMountsResponseSchema, { mounts: items }),
    );
  if (items.length === 0)
    return notice("there are no mounts: mooring mount create, or mooring mount adopt SITE");
  await writeMounts(output, items);
}

async function get(run: CommandRun, [name = ""]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  checkDays(run);
  const reply = await (await client(run)).getMount({ name, reveal: args.is("reveal") });
  if (args.is("json")) return output.json(GetMountResponseSchema, reply);
  const { mount } = reply;
  if (mount === undefined) return;
  if (!args.is("days")) return writeMount(output, mount);
  await writeMount(output, mount, await stripsOf(run, mount));
  notice(legend(run));
}

/** Last days of a mount by site. */
async function stripsOf(run: CommandRun, mount: Mount): Promise<ReadonlyMap<string, string>> {
  const strips = new Map<string, string>();
  for (const { site } of mount.status) {
    const mountPath = mount.overrides[site]?.mountPath || mount.mountPath;
    const { items } = await readStrips(run, { site, mountPath });
    strips.set(site, stripText(run, items[0]));
  }
  return strips;
}

async function createOne(
  run: CommandRun,
  [name = "", mountPath = "", driver = "", ...members]: readonly string[],
): Promise<void> {
  const lacks = [
    ...(/^[^/]*=/.test(mountPath) ? ["PATH"] : []),
    ...(driver.includes("=") ? ["DRIVER"] : []),
  ];
  if (lacks.length > 0)
    throw usage(`mount create: before the members, ${lacks.join(" and ")} must be given`);
  const input = create(MountInputSchema, { name, mountPath, driver, expectedEtag: "0" });
  await readMountMembers(run, input, members, driver);
  await save(run, input);
}

async function set(run: CommandRun, [name = "", ...members]: readonly string[]): Promise<void> {
  // Before the values: their names depend on the driver of the mount.
  const { mount } = await (await client(run)).getMount({ name }).catch((error: unknown) => {
    if (ConnectError.from(error).code === Code.NotFound)
      run.notice("a new mount: mooring mount create NAME PATH DRIVER ITEM=VALUE");
    throw error;
  });
  if (members.length === 0) throw usage("mount set: ITEM=VALUE is missing");
  const input = create(MountInputSchema, { name });
  await readMountMembers(run, input, members, mount?.driver ?? "", mount);
  await save(run, input);
}

async function save(run: CommandRun, input: MountInput): Promise<void> {
  const { args, output, notice } = run;
  const mounts = await client(run);
  const request = {
    mounts: [input],
    reason: run.args.text("reason") ?? "",
    allowSharedCredential: args.is("allow-shared-credential"),
  };
  const reply = await confirmed(run, (dryRun) => mounts.saveMounts({ ...request, dryRun }));
  if (args.is("json")) return output.json(SaveMountsResponseSchema, reply);
  await writeResults(output, reply.results);
  if (args.is("dry-run")) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
}

async function replace(
  run: CommandRun,
  [name = "", member = ""]: readonly string[],
): Promise<void> {
  const { args, output, notice } = run;
  const { item, site, value } = await readItem(run, member);
  const mounts = await client(run);
  const request = { name, item, site, value, reason: run.args.text("reason") ?? "" };
  const reply = await confirmed(run, (dryRun) => mounts.replaceCredential({ ...request, dryRun }));
  if (args.is("json")) return output.json(ReplaceCredentialResponseSchema, reply);
  await writeResults(output, reply.results);
  if (args.is("dry-run")) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
}

async function copy(
  run: CommandRun,
  [name = "", newName = "", mountPath = ""]: readonly string[],
): Promise<void> {
  const { args, output } = run;
  const reply = await (await client(run)).copyMount({
    name,
    newName,
    mountPath,
    reason: run.args.text("reason") ?? "",
    allowSharedCredential: args.is("allow-shared-credential"),
  });
  if (args.is("json")) return output.json(CopyMountResponseSchema, reply);
  await output.write(`${newName}: created\n`);
}

async function rename(
  run: CommandRun,
  [name = "", newName = ""]: readonly string[],
): Promise<void> {
  const { args, output } = run;
  const reply = await (await client(run)).renameMount({
    name,
    newName,
    reason: run.args.text("reason") ?? "",
  });
  if (args.is("json")) return output.json(RenameMountResponseSchema, reply);
  await output.write(`${name}: has the name ${newName} now\n`);
}

async function remove(run: CommandRun, given: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const mounts = await client(run);
  const names = await expandPatterns(run, given, { noun: "mount", list: () => pathsOf(mounts) });
  const request = { names: [...names], reason: run.args.text("reason") ?? "" };
  const reply = await confirmed(
    run,
    (dryRun) => mounts.deleteMounts({ ...request, dryRun }),
    `Delete ${names.join(", ")} here and on the sites that follow?`,
  );
  if (args.is("json")) return output.json(DeleteMountsResponseSchema, reply);
  await writeResults(output, reply.results);
  if (args.is("dry-run")) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
}

/** Names and paths of all mounts that the token may read, for patterns. */
async function pathsOf(mounts: Awaited<ReturnType<typeof client>>) {
  const all = await allMounts(mounts);
  return all.map(({ name, mountPath: path }) => ({ name, path }));
}

/** All mounts that the token may read. */
async function allMounts(mounts: Awaited<ReturnType<typeof client>>) {
  const { items } = await readPages(Number.POSITIVE_INFINITY, async (page) => {
    const reply = await mounts.listMounts(page);
    return { items: reply.mounts, next: reply.nextPageToken };
  });
  return items;
}

async function compare(run: CommandRun, [site = ""]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const reply = await (await client(run)).compareMounts({ site }, timeLimit(run, TIME_LIMIT));
  if (args.is("json")) return output.json(CompareMountsResponseSchema, reply);
  const open = reply.results.filter(({ outcome }) => outcome !== "unchanged");
  if (open.length === 0) return notice(`the mounts of ${site} are equal to those here`);
  await writeResults(output, open);
}

async function sync(run: CommandRun, [site = "", ...names]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const mounts = await client(run);
  const plan = args.is("yes")
    ? []
    : (await mounts.compareMounts({ site }, timeLimit(run, TIME_LIMIT))).results;
  await agreeToEffects(
    run,
    plan,
    `Bring ${names.length === 0 ? "all mounts" : names.join(", ")} to ${site}?`,
  );
  const reply = await longCall(
    run,
    { work: "sync", interruptNote: INTERRUPT_NOTE, timeoutMs: TIME_LIMIT },
    (options) => mounts.syncMounts({ site, names }, options),
  );
  if (args.is("json")) await output.json(SyncMountsResponseSchema, reply);
  else if (reply.status.length === 0) notice(`no mount is assigned to ${site}`);
  else await writeStatus(output, reply.status);
  if (reply.status.some(({ state }) => state !== "ok"))
    throw new CliFailure(
      EXIT.refused,
      "some mounts do not work on the site",
      remedies(reply.status),
    );
}

/** Remedies of mounts that do not work, each once. */
function remedies(statuses: readonly MountStatus[]): readonly string[] {
  return [...new Set(statuses.map(({ remedy }) => remedy).filter((text) => text !== ""))];
}

async function test(run: CommandRun, given: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  if ((given.length === 0) !== args.is("all"))
    throw usage("mount test requires names of mounts, or --all");
  const mounts = await client(run);
  const names = await expandPatterns(run, given, { noun: "mount", list: () => pathsOf(mounts) });
  const request = { names: [...names], site: args.text("site") ?? "" };
  const tested = { work: "test", interruptNote: "nothing was changed", timeoutMs: TEST_TIME_LIMIT };
  const reply = await longCall(run, tested, (options) => mounts.testMounts(request, options));
  const { tests } = reply;
  if (args.is("json")) await output.json(TestMountsResponseSchema, reply);
  else if (tests.length === 0) notice("there are no mounts on sites");
  else await writeTests(output, tests);
  const bad = tests.filter(({ outcome, error }) => error !== "" && outcome !== "disabled");
  if (bad.length > 0)
    throw new CliFailure(
      EXIT.refused,
      `${bad.length} of ${counted(tests.length, "mount")} ${bad.length === 1 ? "does" : "do"} not work`,
    );
}

async function adopt(run: CommandRun, [site = "", ...names]: readonly string[]): Promise<void> {
  const { args, output, notice } = run;
  const mounts = await client(run);
  const dryRun = args.is("dry-run");
  const request = { site, names, reason: run.args.text("reason") ?? "" };
  if (!dryRun && !args.is("yes")) {
    const preview = await mounts.adoptMounts(
      { ...request, dryRun: true },
      timeLimit(run, TIME_LIMIT),
    );
    if (canAsk(run.world)) await writeResults(output, preview.results);
    await agreeToEffects(run, preview.results, "Take these as Mooring's?");
  }
  const reply = await longCall(
    run,
    { work: "adoption", interruptNote: INTERRUPT_NOTE, timeoutMs: TIME_LIMIT },
    (options) => mounts.adoptMounts({ ...request, dryRun }, options),
  );
  if (args.is("json")) return output.json(AdoptMountsResponseSchema, reply);
  if (reply.results.length === 0) return notice(`the mounts of ${site} are equal to those here`);
  await writeResults(output, reply.results);
  if (dryRun) notice("nothing was changed");
  notePendingSites(run, reply.pendingSites);
  refuseLosses(run, reply.results);
}

async function rollback(_run: CommandRun, [revision = ""]: readonly string[]): Promise<void> {
  throw usage(
    `mount rollback is now part of rollback: mooring rollback ${revision} --only mounts, or --only NAME`,
  );
}

/** Parts of an archive with mounts. */
const MOUNTS_ONLY = ["mounts"];

async function importFile(run: CommandRun, [file = ""]: readonly string[]): Promise<void> {
  await importArchive(run, file, MOUNTS_ONLY);
}

/** Exits with 4 when mounts or values of a source are not kept, unless that is accepted. */
function refuseLosses({ args }: CommandRun, results: readonly MountResult[]): void {
  if (args.is("accept-loss")) return;
  const skipped = results.filter(({ outcome }) => outcome === "skipped").length;
  const lossy = results.filter(({ leftOut }) => leftOut.length > 0).length;
  if (skipped + lossy === 0) return;
  const parts = [
    ...(skipped > 0 ? [`${counted(skipped, "mount")} skipped`] : []),
    ...(lossy > 0 ? [`values of ${counted(lossy, "mount")} not kept`] : []),
  ];
  throw new CliFailure(EXIT.refused, `${parts.join(", ")} (--accept-loss: exit with 0)`);
}

async function exportAll(run: CommandRun, names: readonly string[]): Promise<void> {
  const { args, output, world } = run;
  const path = args.text("output");
  const site = args.text("site");
  if (site === undefined) {
    if (args.is("reveal")) throw usage("--reveal requires --site; an archive has --secrets clear");
    return exportArchive(run, { file: path, only: MOUNTS_ONLY, names });
  }
  // Rows for the backup page of a server.
  const request = { names: [...names], site, reveal: args.is("reveal") };
  const { document = {} } = await (await client(run)).exportMounts(request);
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (path === undefined) return output.value(text);
  await writeNewFile(resolve(world.cwd, path), async () => text, { force: args.is("force") });
}

async function watch(run: CommandRun): Promise<void> {
  const { args, output } = run;
  const mounts = await client(run);
  await printEvents(run, {
    // Each stream begins with all mounts.
    open: (_after, options) => mounts.watchMounts({}, options),
    write: async (event) => {
      if (args.is("json")) return output.jsonLine(WatchMountsResponseSchema, event);
      if (event.mounts.length > 0) await writeMounts(output, event.mounts);
      for (const name of event.removed) await output.write(`${name}: deleted\n`);
    },
  });
}
