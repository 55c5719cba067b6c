// Files that declare a site, for the commands plan, apply and export --as-file.
import { basename, dirname, join, relative, resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import {
  BackupService,
  type ImportArchiveResponse,
  ImportArchiveResponseSchema,
  SecretsMode,
} from "../../gen/mooring/v1/backup_service_pb.js";
import { quote } from "../config/complaint.ts";
import { readBoundedFile } from "../files/bounded-file.ts";
import { makeFolder } from "../files/make-folder.ts";
import { yamlSizeProblem } from "../files/yaml-size.ts";
import { STATE_FILE } from "../state-file/form.ts";
import { type Problem, problemText, sortedProblems } from "../state-file/problem.ts";
import { documentOf, loadStateFile, MAX_BYTES, type StateFile } from "../state-file/read.ts";
import { MAX_FILE_BYTES } from "../state-file/reference.ts";
import { readKnownSettings } from "../state-file/shapes.ts";
import { type WrittenSecret, writeStateFile } from "../state-file/write.ts";
import { checkFree, EXPORT, INTERRUPT_NOTE, NOUNS, readOnly, writeReport } from "./archive.ts";
import { counted } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { agreeToEffects, effectLine } from "./effect.ts";
import { CliFailure, EXIT, usage } from "./failure.ts";
import { readText, writeNewFile } from "./file.ts";
import { longCall } from "./long-call.ts";
import { notePendingSites } from "./saved.ts";

/** File that declares records, as a command reads it. */
interface ReadFile {
  readonly name: string;
  readonly content: StateFile;
}

/** Reads a file, or standard input. References are resolved here. @throws CliFailure. */
async function readFile({ args, world }: CommandRun, file: string): Promise<ReadFile> {
  const path = file === "-" ? join(world.cwd, "standard-input") : resolve(world.cwd, file);
  const text = file === "-" ? await readText({ path: file, limit: MAX_BYTES }, world) : undefined;
  const known = readKnownSettings();
  const content = loadStateFile({
    form: STATE_FILE,
    path,
    env: world.env,
    readFile: (each, limit) =>
      each === path && text !== undefined ? Buffer.from(text) : readBoundedFile(each, limit),
    parts: Object.keys(NOUNS).filter((part) => part !== "servers"),
    shapeOf: (key) => known.get(key)?.shape,
  });
  const name = file === "-" ? "standard input" : file;
  if (content.problems.length > 0) throw invalidFile(name, content.problems);
  const only = readOnly(args);
  if (only.length === 0) return { name, content };
  const sections = new Map([...content.sections].filter(([part]) => only.includes(part)));
  const missing = only.find((part) => !sections.has(part));
  if (missing !== undefined) throw usage(`${name} has no section ${quote(missing)}`);
  return { name, content: { ...content, sections } };
}

function invalidFile(name: string, problems: readonly Problem[]): CliFailure {
  const lines = sortedProblems(problems).map((problem) => problemText(name, problem));
  return new CliFailure(EXIT.refused, `${name} is invalid; nothing was changed`, lines);
}

/** Applies a file, or only plans it. @throws CliFailure with the problems of the file, by line. */
async function importFile(
  run: CommandRun,
  { name, content }: ReadFile,
  dryRun: boolean,
): Promise<ImportArchiveResponse> {
  const { args } = run;
  const client = await run.connectTo(BackupService);
  const request = {
    document: documentOf(content) as JsonObject,
    declared: true,
    includeServerOwn: true,
    pauseSites: args.is("pause-sites"),
    reason: args.text("reason") ?? `file ${basename(name)}`,
    dryRun,
  };
  try {
    return await longCall(
      run,
      { work: dryRun ? "plan" : "apply", interruptNote: INTERRUPT_NOTE },
      (options) => client.importArchive(request, options),
    );
  } catch (error) {
    const violations = ConnectError.from(error)
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations);
    const problems = violations.flatMap(
      ({ field, description }) => content.problemAt(field, description) ?? [],
    );
    throw problems.length > 0 ? invalidFile(name, problems) : error;
  }
}

/** Shows what a file would change here and on servers; exits with 2 if that is something. */
export async function planFile(run: CommandRun, path: string): Promise<void> {
  const { args, output } = run;
  const reply = await importFile(run, await readFile(run, path), true);
  if (args.is("json")) await output.json(ImportArchiveResponseSchema, reply);
  else await writePlan(run, reply);
  if (!isEqual(reply)) run.exitWith(EXIT.differs);
}

/** Reports whether a plan changes nothing, here and on servers. */
function isEqual({ results }: ImportArchiveResponse): boolean {
  return results.every(({ outcome, effects }) => outcome === "unchanged" && effects.length === 0);
}

async function writePlan(run: CommandRun, reply: ImportArchiveResponse): Promise<void> {
  const { output } = run;
  await writeReport(run, reply, { isPlan: true });
  const effects = reply.results.flatMap((result) => result.effects.map(effectLine));
  if (effects.length > 0)
    await output.write(`On servers:\n${effects.map((line) => `  ${line}\n`).join("")}`);
  if (reply.leftAlone.length === 0) return;
  const left = reply.leftAlone.map(({ part, count, names }) => {
    const more = count > names.length ? ` and ${count - names.length} more` : "";
    return `  ${part}: ${names.join(", ")}${more}\n`;
  });
  await output.write(`Not in the file, left as it is:\n${left.join("")}`);
}

/** Applies a file, after its effects on running servers were confirmed. */
export async function applyFile(run: CommandRun, path: string): Promise<void> {
  const { args, output } = run;
  const file = await readFile(run, path);
  if (!args.is("yes")) {
    const plan = await importFile(run, file, true);
    // The file declares its secrets: they are shown, and not asked for.
    const changes = plan.results.map(({ name, outcome, effects }) => ({ name, outcome, effects }));
    await agreeToEffects(run, changes);
  }
  const reply = await importFile(run, file, false);
  if (args.is("json")) await output.json(ImportArchiveResponseSchema, reply);
  else await writeReport(run, reply, { isPlan: false, done: "applied" });
  notePendingSites(run, reply.pendingSites);
  const missing = reply.results.filter(({ isLoss }) => isLoss);
  if (missing.length > 0)
    throw new CliFailure(
      EXIT.refused,
      `without all of its values: ${missing.map(({ part, name }) => `${part} ${name}`).join(", ")}`,
    );
}

/** Folder of secrets that a written file refers to, unless they are written too. */
const SECRETS = "secrets";

/** Writes a file that declares what the service has, and on request the files of its secrets. */
export async function exportAsFile(run: CommandRun, file: string | undefined): Promise<void> {
  const { args, world, output, notice } = run;
  for (const flag of ["secrets", "passphrase-file"] as const)
    if (args.text(flag) !== undefined)
      throw usage(`--${flag} does not go with --as-file: --secrets-dir writes secrets`);
  const path = file === undefined ? undefined : resolve(world.cwd, file);
  if (path === undefined && args.is("force")) throw usage("--force requires a file");
  if (path !== undefined && !args.is("force")) await checkFree(path);
  const given = args.text("secrets-dir");
  const folder = given === undefined ? undefined : resolve(world.cwd, given);
  if (folder?.includes("}")) throw usage("--secrets-dir must have no }");
  const client = await run.connectTo(BackupService);
  const request = {
    secrets: folder === undefined ? SecretsMode.OMIT : SecretsMode.CLEAR,
    only: [...readOnly(args)],
    includeServerOwn: args.is("include-server-own"),
  };
  const { document } = await longCall(run, EXPORT, (options) =>
    client.exportArchive(request, options),
  );
  if (document === undefined)
    throw new CliFailure(EXIT.failed, "the service sent no archive; nothing was written");
  const { text, secrets } = writeStateFile(document, {
    known: readKnownSettings(),
    all: args.is("all"),
    withDefault: await settingsWithDefault(run),
    pathOf: (name) => referenceTo(name, folder, path),
    comment: ` State of Mooring at revision ${String(document["revision"])}, for MOORING_STATE_FILE and mooring apply.`,
  });
  refuseUnreadable(secrets);
  if (folder !== undefined) await writeSecrets(secrets, folder, { force: args.is("force") });
  if (path === undefined) await output.write(text);
  else {
    await writeNewFile(path, async () => text, { force: args.is("force") });
    await output.value(`wrote ${file}\n`);
  }
  const size = text.length > MAX_BYTES ? `it has more than ${MAX_BYTES} characters` : undefined;
  const problem = size ?? yamlSizeProblem(text);
  if (problem !== undefined) notice(`a service does not read this file: ${problem}`);
  const absent = secrets.filter(({ value }) => folder === undefined || value === undefined);
  for (const { file: name } of absent)
    notice(`put the value into ${referenceTo(name, folder, path)}`);
  if (folder !== undefined && absent.length > 0)
    notice(`${counted(absent.length, "secret")} omitted: only the permanent token reads them`);
}

/** Keys of settings that have their default; none if the token may not list settings. */
async function settingsWithDefault({ connect }: CommandRun): Promise<ReadonlySet<string>> {
  try {
    const { settings } = await (await connect()).listSettings({ maskSecrets: true });
    return new Set(settings.flatMap(({ key, revision }) => (revision === 0n ? [key] : [])));
  } catch (error) {
    if (ConnectError.from(error).code === Code.PermissionDenied) return new Set();
    throw error;
  }
}

/** Path of a file of a secret as the written file refers to it: relative, if both are written. */
function referenceTo(name: string, folder: string | undefined, path: string | undefined): string {
  if (folder === undefined) return join(SECRETS, name);
  if (path === undefined) return join(folder, name);
  return relative(dirname(path), join(folder, name));
}

/** @throws CliFailure for a secret that no reference can give back. */
function refuseUnreadable(secrets: readonly WrittenSecret[]): void {
  const isUnreadable = ({ value = "" }: WrittenSecret): boolean =>
    value.includes("\0") || Buffer.byteLength(value) > MAX_FILE_BYTES;
  const found = secrets.find(isUnreadable);
  if (found !== undefined)
    throw new CliFailure(
      EXIT.failed,
      `the value of ${found.file} has more than ${MAX_FILE_BYTES} bytes or a NUL character, so no file can have it; nothing was written`,
    );
}

async function writeSecrets(
  secrets: readonly WrittenSecret[],
  folder: string,
  { force }: { readonly force: boolean },
): Promise<void> {
  await makeFolder(folder, 0o700);
  for (const { file, value } of secrets)
    if (value !== undefined) await writeNewFile(join(folder, file), async () => value, { force });
}
