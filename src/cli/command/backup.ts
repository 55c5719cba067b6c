// The command backup: backups of the whole site, in the place of the service or in files.
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type BackupOmission,
  BackupService,
  CheckBackupResponseSchema,
  CreateBackupResponseSchema,
  ListBackupsResponseSchema,
  PruneBackupsResponseSchema,
  type RestoreBackupResponse,
  RestoreBackupResponseSchema,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import { LIMITS } from "../../archive/readable.ts";
import type { CheckedBackup } from "../../backups/check.ts";
import { quote } from "../../config/complaint.ts";
import {
  checkFree,
  countsText,
  endImport,
  INTERRUPT_NOTE,
  readImportChoices,
  readImportFile,
  readOnly,
  writeReport,
} from "../archive.ts";
import { counted, type FlagName, localTime } from "../argument.ts";
import { hasSealedSecrets } from "../backup-file.ts";
import { type Action, type Command, type CommandRun, requireYes, runAction } from "../command.ts";
import { effectLine } from "../effect.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { readBytes, readText, writeNewFile } from "../file.ts";
import { longCall } from "../long-call.ts";
import { printableText } from "../output.ts";
import { canAsk, confirm } from "../prompt.ts";
import { askPassphrase, givenPassphrase, newPassphrase } from "../secret.ts";
import { showOnce } from "../shown-once.ts";
import { siteToken } from "../site.ts";

const restoreFlags: readonly FlagName[] = [
  "accept-loss",
  "allow-shared-credential",
  "dry-run",
  "include-server-own",
  "only",
  "passphrase-file",
  "pause-sites",
  "reason",
  "replace-secrets",
  "site",
  "site-token-file",
  "skip-invalid",
  "table",
  "to",
  "yes",
];
const createFlags: readonly FlagName[] = [
  "accept-loss",
  "force",
  "include-server-own",
  "output",
  "passphrase-file",
];

const actions: Readonly<Record<string, Action>> = {
  create: { count: 0, flags: createFlags, instead: "--output FILE", act: createBackup },
  list: { count: 0, flags: [], act: list },
  check: { count: 1, flags: ["passphrase-file"], act: check },
  restore: { count: 1, flags: restoreFlags, act: restore },
  prune: { count: 0, flags: ["dry-run", "yes"], act: prune },
};

export const backupCommand: Command = {
  name: "backup",
  actions,
  usage: [
    "backup create [--output FILE [--force]] [--passphrase-file PATH] [--include-server-own]",
    "backup list",
    "backup check FILE|NAME [--passphrase-file PATH]",
    "backup restore FILE|NAME [--only PARTS] [--site OLD=NEW] [--dry-run] [--yes]",
    "backup restore FILE|NAME [--to NAME=URL]... [--site-token-file PATH]",
    "backup restore FILE|NAME [--passphrase-file PATH] [--pause-sites] [--skip-invalid]",
    "backup restore FILE|NAME [--replace-secrets] [--include-server-own]",
    "backup restore FILE|NAME [--accept-loss]",
    "backup prune [--dry-run] [--yes]",
  ],
  summary: "Back up the whole site, and restore it by one command",
  details: [
    "A backup is one sealed file with settings, mounts, rules, sites, webhooks, principals,",
    "and what the servers have besides, such as their users. create stores one in the place",
    "of the service (MOORING_BACKUP_DIR), or in FILE with a passphrase of yours. check",
    "opens one as a restore into an empty service would, a FILE on this machine without a",
    "service. restore shows what would change here and on each server, and asks; what the",
    "backup lacks is not removed. --to NAME=URL brings the site NAME to a new server,",
    "with the token of --site-token-file (with several servers: lines NAME:TOKEN). prune",
    "removes what MOORING_BACKUP_KEEP does not keep, never the newest good one. A FILE of",
    "restore may also be that of export, or of the web page of AList or OpenList. Secrets",
    "that are stored here stay as they are unless --replace-secrets is given.",
    "The exit code is 4 when something is missing in the backup or after the restore,",
    "unless --accept-loss is given.",
  ],
  flags: [...new Set([...createFlags, ...restoreFlags])],
  offline: true,
  positionals: [1, 2],
  run: (run) => runAction(backupCommand, run),
};

async function createBackup(run: CommandRun): Promise<void> {
  const { args, world, output } = run;
  const file = args.text("output");
  if (file === undefined && args.is("force")) throw usage("--force requires --output");
  const path = file === undefined ? undefined : resolve(world.cwd, file);
  if (path !== undefined && !args.is("force")) await checkFree(path);
  const passphrase =
    path === undefined ? (givenPassphrase(args, world) ?? "") : await newPassphrase(args, world);
  const client = await run.connectTo(BackupService);
  const request = {
    passphrase,
    download: path !== undefined,
    includeServerOwn: args.is("include-server-own"),
  };
  const interruptNote =
    path === undefined
      ? '"mooring backup list" shows whether it was stored before'
      : "nothing was written";
  const reply = await longCall(run, { work: "backup", interruptNote }, (options) =>
    client.createBackup(request, options),
  );
  const { document, backup, counts, removed, omissions, revision } = reply;
  if (path !== undefined) {
    if (document === undefined)
      throw new CliFailure(EXIT.failed, "the service sent no backup; nothing was written");
    const text = `${JSON.stringify(document, undefined, 1)}\n`;
    await writeNewFile(path, async () => text, { force: args.is("force") });
  }
  if (args.is("json"))
    await output.json(CreateBackupResponseSchema, { ...reply, document: undefined });
  else {
    await output.value(
      `backup of ${countsText(counts)} at revision ${revision}: ${file ?? backup?.name ?? ""}\n`,
    );
    for (const { name } of removed) run.notice(`removed by MOORING_BACKUP_KEEP: ${name}`);
  }
  endOmissions(run, omissions);
}

async function list(run: CommandRun): Promise<void> {
  const { args, output } = run;
  const reply = await (await run.connectTo(BackupService)).listBackups({});
  if (args.is("json")) return output.json(ListBackupsResponseSchema, reply);
  const { backups, target, schedule, timeZone, keep, nextTime, problem } = reply;
  if (target === "")
    return output.write(
      "the service keeps no backups: MOORING_BACKUP_DIR is not set (backup create --output FILE writes one)\n",
    );
  await output.table(
    [{ title: "NAME" }, { title: "CREATED" }, { title: "SIZE" }, { title: "OF", flexible: true }],
    backups.map((backup) => [
      backup.name,
      backup.createTime === undefined ? "" : localTime(timestampMs(backup.createTime)),
      sizeText(backup.size),
      backup.own ? "this service" : `another database (${backup.databaseId})`,
    ]),
  );
  const next = nextTime === undefined ? "" : `, next ${localTime(timestampMs(nextTime))}`;
  await output.write(
    `${counted(backups.length, "backup")} in ${target}; ${
      schedule === "" ? "no schedule" : `schedule ${schedule} (${timeZone})${next}`
    }; keep ${keep}\n`,
  );
  if (problem !== "") throw new CliFailure(EXIT.failed, `the last backup failed: ${problem}`);
}

async function check(run: CommandRun, [source = ""]: readonly string[]): Promise<void> {
  const { args, world, output } = run;
  if (await isFile(run, source)) {
    const content = await readBytes({ path: source, limit: LIMITS.bytes }, world);
    const passphrase =
      givenPassphrase(args, world) ??
      (hasSealedSecrets(content) ? await askPassphrase(world) : undefined);
    return endCheck(run, source, await world.checkBackup(content, passphrase ?? ""));
  }
  const client = await run.connectTo(BackupService);
  const passphrase = givenPassphrase(args, world) ?? "";
  const interruptNote = "the check was not completed";
  const reply = await longCall(run, { work: "check", interruptNote }, (options) =>
    client.checkBackup({ name: source, passphrase }, options),
  );
  if (args.is("json")) await output.json(CheckBackupResponseSchema, reply);
  const { problem, omissions, losses, revision, version } = reply;
  const counts = Object.fromEntries(reply.counts.map(({ part, count }) => [part, count]));
  const created =
    reply.backup?.createTime === undefined
      ? ""
      : new Date(timestampMs(reply.backup.createTime)).toISOString();
  await endCheck(
    run,
    source,
    { problem, counts, omissions, losses, revision: Number(revision), version, created },
    { isWritten: args.is("json") },
  );
}

/** Members of the result of a check that are written. */
type Checked = Pick<CheckedBackup, "problem" | "counts" | "revision" | "version" | "created"> & {
  readonly omissions: readonly Partial<BackupOmission>[] | CheckedBackup["omissions"];
  readonly losses: readonly {
    readonly part: string;
    readonly name: string;
    readonly note: unknown;
  }[];
};

async function endCheck(
  run: CommandRun,
  source: string,
  checked: Checked,
  { isWritten = false }: { readonly isWritten?: boolean } = {},
): Promise<void> {
  const { args, output, notice } = run;
  const { problem, counts, omissions, losses, revision, version, created } = checked;
  const reason = String(problem);
  if (!isWritten && args.is("json")) {
    const shown = losses.map(({ part, name, note }) => ({ part, name, note: String(note) }));
    const result = {
      problem: reason,
      counts,
      omissions,
      losses: shown,
      revision,
      version,
      created,
    };
    await output.write(`${JSON.stringify(result, undefined, 2)}\n`);
  }
  if (reason !== "") throw new CliFailure(EXIT.failed, `${source} cannot be restored: ${reason}`);
  if (!args.is("json")) {
    const list = Object.entries(counts).map(([part, count]) => ({ part, count }));
    await output.write(
      `${source} can be restored: ${countsText(list)} at revision ${revision}, of ${created}, ${version}\n`,
    );
  }
  for (const { part, name, note } of losses)
    notice(`not restored as it was: ${part} ${name} ${note}`);
  for (const line of omissionLines(omissions)) notice(line);
}

async function restore(run: CommandRun, [source = ""]: readonly string[]): Promise<void> {
  const { args, world, output } = run;
  const only = readOnly(args);
  const from = (await isFile(run, source))
    ? await readImportFile(run, source, only)
    : { name: source, passphrase: givenPassphrase(args, world) ?? "" };
  const newServers = await readNewServers(run);
  const request = { ...from, ...readImportChoices(run, only), newServers };
  const client = await run.connectTo(BackupService);
  const call = (dryRun: boolean) =>
    longCall(run, { work: "restore", interruptNote: INTERRUPT_NOTE }, (options) =>
      client.restoreBackup({ ...request, dryRun }, options),
    );
  if (!args.is("dry-run") && !args.is("yes")) {
    // A missing file or backup is reported before the confirmation.
    const plan = await call(true);
    requireYes(run, "backup restore");
    await agree(run, plan);
  }
  const reply = await call(args.is("dry-run"));
  const effects = args.is("dry-run") ? reply.results.flatMap((result) => result.effects) : [];
  const generated = reply.results.filter(({ password }) => password !== "");
  const write = async (): Promise<void> => {
    if (args.is("json")) return output.json(RestoreBackupResponseSchema, reply);
    await writeReport(run, reply, { done: "restored" });
    for (const { name, password } of generated)
      await output.write(printableText(`new password of ${name}: ${password}\n`));
  };
  if (generated.length === 0) await write();
  else {
    const names = generated.map(({ name }) => name).join(", ");
    const lost = {
      what: `the generated password of ${names}`,
      remedy: "give each of these users another one on the server",
    };
    await showOnce(output, lost, write);
  }
  for (const effect of effects) run.notice(effectLine(effect));
  for (const line of omissionLines(reply.omissions)) run.notice(line);
  endImport(run, reply);
}

/** `--to NAME=URL` with the tokens of these servers, by the names of their sites in the backup. */
async function readNewServers(
  run: CommandRun,
): Promise<Readonly<Record<string, { readonly url: string; readonly token: string }>>> {
  const { args, world } = run;
  const path = args.text("site-token-file");
  const urls = args.texts("to").map((text): readonly [name: string, url: string] => {
    const [, name = "", url = ""] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name === "") throw usage(`--to ${quote(text)} is not of the form NAME=URL`);
    return [name, url];
  });
  const [first, ...others] = urls;
  if (first === undefined && path !== undefined) throw usage("--site-token-file goes with --to");
  if (first === undefined) return {};
  if (new Set(urls.map(([name]) => name)).size < urls.length)
    throw usage("--to names a site more than once");
  if (others.length === 0) {
    const { token = "" } = await siteToken(run, true);
    return { [first[0]]: { url: first[1], token } };
  }
  if (path === undefined) throw usage("several --to need --site-token-file with lines NAME:TOKEN");
  const text = await readText({ path, limit: MAX_TOKEN_FILE }, world);
  const tokens = new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const at = line.indexOf(":");
      return at < 0 ? [] : [[line.slice(0, at).trim(), line.slice(at + 1).trim()]];
    }),
  );
  return Object.fromEntries(
    urls.map(([name, url]) => {
      const token = tokens.get(name) ?? "";
      if (token === "") throw usage(`--site-token-file has no line ${name}:TOKEN`);
      return [name, { url, token }];
    }),
  );
}

/** Maximum size of a file with tokens of sites, in bytes: 1,000 of them. */
const MAX_TOKEN_FILE = 2 ** 21;

/** Shows the plan of a restore, and asks. */
async function agree(run: CommandRun, plan: RestoreBackupResponse): Promise<void> {
  await writeReport(run, plan, { isPlan: true, to: run.errors });
  for (const { effects } of plan.results)
    for (const effect of effects) run.notice(effectLine(effect));
  if (!(await confirm(run.world, "Restore this?")))
    throw new CliFailure(EXIT.failed, "nothing was changed");
}

async function prune(run: CommandRun): Promise<void> {
  const { args, output, world } = run;
  const client = await run.connectTo(BackupService);
  const call = (dryRun: boolean) =>
    longCall(
      run,
      { work: "prune", interruptNote: '"mooring backup list" shows what is left' },
      (options) => client.pruneBackups({ dryRun }, options),
    );
  if (!args.is("dry-run") && !args.is("yes")) {
    requireYes(run, "backup prune");
    const { removed } = await call(true);
    for (const { name } of removed) run.notice(`would be removed: ${name}`);
    if (removed.length > 0 && canAsk(world) && !(await confirm(world, "Remove them?")))
      throw new CliFailure(EXIT.failed, "nothing was removed");
  }
  const reply = await call(args.is("dry-run"));
  if (args.is("json")) return output.json(PruneBackupsResponseSchema, reply);
  const word = args.is("dry-run") ? "would be removed" : "removed";
  for (const { name } of reply.removed) await output.write(`${word}: ${name}\n`);
  for (const name of reply.unknown) run.notice(`left alone, because it is no backup: ${name}`);
  const { others } = reply;
  if (others.length > 0)
    run.notice(
      `left alone: ${counted(others.length, "backup")} of another database, such as ${others[0]?.name}`,
    );
  await output.write(
    `${counted(reply.removed.length, "backup")} ${word}, ${reply.kept.length} kept\n`,
  );
}

/** Reports whether an argument is a file of this machine, and not the name of a stored backup. */
async function isFile({ world }: CommandRun, source: string): Promise<boolean> {
  if (source === "-" || source.includes("/") || source.includes("\\")) return true;
  return (await stat(resolve(world.cwd, source)).catch(() => undefined)) !== undefined;
}

function omissionLines(omissions: Checked["omissions"]): string[] {
  return omissions.map(({ part = "", names = [], scope = "", reason = "" }) => {
    const what = [part, ...(names.length > 0 ? [names.join(", ")] : [])].join(" ");
    if (scope !== "")
      return `not in the backup: ${what}, because the token lacks the scope ${scope}`;
    if (reason !== "") return `not in the backup: ${what}: ${reason}`;
    return `not in the backup: ${names.join(", ")} (--include-server-own includes them)`;
  });
}

/** Exits with 4 when a part of the site is not in the backup. */
function endOmissions(run: CommandRun, omissions: readonly BackupOmission[]): void {
  for (const line of omissionLines(omissions)) run.notice(line);
  const missing = omissions.filter(({ scope, reason }) => scope !== "" || reason !== "");
  if (missing.length === 0 || run.args.is("accept-loss")) return;
  throw new CliFailure(
    EXIT.refused,
    `the backup is incomplete: ${missing.map(({ part, names }) => [part, ...names].join(" ")).join(", ")} (--accept-loss: exit with 0)`,
  );
}

function sizeText(bytes: bigint): string {
  const kib = Number(bytes) / 1024;
  return kib < 1024 ? `${Math.ceil(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}
