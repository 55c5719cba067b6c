// Export and import of archives, for the commands of the whole site and of mounts.
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import {
  type ArchiveResult,
  BackupService,
  type ImportArchiveResponse,
  ImportArchiveResponseSchema,
  SecretsMode,
} from "../../gen/mooring/v1/backup_service_pb.js";
import { quote } from "../config/complaint.ts";
import { choice } from "../config/value.ts";
import { SERVER_OWN_KEYS } from "../settings/server-own.ts";
import { type Arguments, counted, listItems } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { confirmed, effectLine, replacedSecretsOf } from "./effect.ts";
import { CliFailure, EXIT, usage } from "./failure.ts";
import { existsAlready, writeNewFile } from "./file.ts";
import { longCall } from "./long-call.ts";
import { readSites } from "./mount.ts";
import { type Output, printableJson } from "./output.ts";
import { notePendingSites } from "./saved.ts";
import { askPassphrase, givenPassphrase, newPassphrase } from "./secret.ts";

const MODES = {
  omit: SecretsMode.OMIT,
  seal: SecretsMode.SEAL,
  clear: SecretsMode.CLEAR,
} as const;

const FATE = {
  omit: "secrets are omitted",
  seal: "secrets are sealed",
  clear: "secrets are in the clear",
} as const;

/** Singular of an entry of each part, for counts. */
export const NOUNS: Readonly<Record<string, string>> = {
  settings: "setting",
  mounts: "mount",
  rules: "folder rule",
  sites: "site",
  webhooks: "webhook",
  principals: "principal",
  servers: "server",
};

/** Note of the error after Ctrl-C has ended an import or a restore. */
export const INTERRUPT_NOTE =
  "parts that were complete stay; the same command with --dry-run shows what is left";

/** An export as a long call. */
export const EXPORT = { work: "export", interruptNote: "nothing was written" };

/** Parts in `--only`. */
export function readOnly(args: Arguments): readonly string[] {
  return args.texts("only").flatMap((text) => listItems(text, "--only"));
}

/**
 * Writes an archive to a file, or to standard output.
 *
 * @param file undefined: standard output. @param names entries of the one part; empty: all.
 */
export async function exportArchive(
  run: CommandRun,
  {
    file,
    only,
    names,
  }: {
    readonly file: string | undefined;
    readonly only: readonly string[];
    readonly names: readonly string[];
  },
): Promise<void> {
  const { args, world, output } = run;
  const mode = readMode(args);
  const path = file === undefined ? undefined : resolve(world.cwd, file);
  if (path === undefined && args.is("force")) throw usage("--force requires a file");
  if (path !== undefined && !args.is("force")) await checkFree(path);
  const passphrase = mode === "seal" ? await newPassphrase(args, world) : "";
  const client = await run.connectTo(BackupService);
  const request = {
    secrets: MODES[mode],
    passphrase,
    only: [...only],
    names: [...names],
    includeServerOwn: args.is("include-server-own"),
  };
  const { document } = await longCall(run, EXPORT, (options) =>
    client.exportArchive(request, options),
  );
  if (document === undefined)
    throw new CliFailure(EXIT.failed, "the service sent no archive; nothing was written");
  const text = `${JSON.stringify(document, undefined, 2)}\n`;
  if (path === undefined) return output.write(output.isTerminal ? printableJson(text) : text);
  await writeNewFile(path, async () => text, { force: args.is("force") });
  await writeSummary(run, { document, file: file ?? "", mode });
}

function readMode(args: Arguments): keyof typeof MODES {
  const text = args.text("secrets") ?? "omit";
  const parsed = choice("omit", "seal", "clear")(text, { cwd: "/", parallelism: 1 });
  if ("complaint" in parsed) throw usage(`--secrets ${quote(text)} ${parsed.complaint}`);
  if (parsed.value !== "seal" && args.text("passphrase-file") !== undefined)
    throw usage("--passphrase-file requires --secrets seal");
  return parsed.value;
}

/** Fails early, before a passphrase is typed; the write checks again. */
export async function checkFree(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined) throw existsAlready(path);
}

/** Header of an archive, as far as the summary needs it. */
interface Header {
  readonly revision?: number;
  readonly counts?: Readonly<Record<string, number>>;
  readonly leftOut?: readonly {
    readonly part: string;
    readonly scope?: string;
    readonly names?: readonly string[];
  }[];
}

async function writeSummary(
  { args, output, notice }: CommandRun,
  written: { document: JsonObject; file: string; mode: keyof typeof MODES },
): Promise<void> {
  const { document, file, mode } = written;
  const { counts = {}, revision = 0, leftOut = [] } = document as Header;
  const lost = mode === "omit" ? 0 : countOmitted(document, Object.keys(counts));
  if (args.is("json")) {
    const summary = { file, revision: String(revision), counts, secrets: mode, leftOut };
    return output.write(`${JSON.stringify(summary, undefined, 2)}\n`);
  }
  const parts = Object.entries(counts).map(([part, count]) => ({ part, count }));
  await output.value(
    `exported ${countsText(parts)} of revision ${String(revision)} to ${file}; ${FATE[mode]}\n`,
  );
  for (const { part, scope, names = [] } of leftOut)
    notice(
      scope === undefined
        ? `not in the archive: ${names.join(", ")} (--include-server-own includes them)`
        : `not in the archive: ${part}, because the token lacks the scope ${scope}`,
    );
  if (lost > 0) notice(`${counted(lost, "secret")} omitted: only the permanent token reads them`);
}

/** Numbers of entries of parts, such as `2 sites, 41 settings`. */
export function countsText(
  counts: readonly { readonly part: string; readonly count: number }[],
): string {
  return counts.map(({ part, count }) => counted(count, NOUNS[part] ?? part)).join(", ");
}

/** Number of secrets that are only named. */
function countOmitted(document: JsonObject, parts: readonly string[]): number {
  const entries = parts.flatMap((part) => document[part] as { readonly omitted?: unknown[] }[]);
  return entries.reduce((sum, { omitted = [] }) => sum + omitted.length, 0);
}

/** Imports a file, after the effects on running servers were confirmed. */
export async function importArchive(
  run: CommandRun,
  file: string,
  only: readonly string[],
): Promise<void> {
  const request = { ...(await readImportFile(run, file, only)), ...readImportChoices(run, only) };
  const client = await run.connectTo(BackupService);
  const reply = await confirmed(run, (dryRun) =>
    longCall(run, { work: "import", interruptNote: INTERRUPT_NOTE }, (options) =>
      client.importArchive({ ...request, dryRun }, options),
    ),
  );
  await (run.args.is("json")
    ? run.output.json(ImportArchiveResponseSchema, reply)
    : writeReport(run, reply));
  if (run.args.is("dry-run"))
    for (const effect of reply.results.flatMap((result) => result.effects))
      run.notice(effectLine(effect));
  endImport(run, reply);
}

/** Document of a file, with its passphrase. */
export async function readImportFile(
  { args, world }: CommandRun,
  file: string,
  only: readonly string[],
): Promise<{ readonly document: JsonObject; readonly passphrase: string }> {
  const given = givenPassphrase(args, world);
  // Imported on demand: it loads SQLite, which no other client command needs.
  const { readBackupFile } = await import("./backup-file.ts");
  const backup = await readBackupFile({ file, only, table: args.text("table") }, world);
  const passphrase = given ?? (backup.isSealed ? await askPassphrase(world) : undefined);
  return { document: backup.document, passphrase: passphrase ?? "" };
}

/** Members of the request of an import or a restore that flags choose. */
export function readImportChoices({ args }: CommandRun, only: readonly string[]) {
  return {
    ...readSiteChoice(args),
    only: [...only],
    skipInvalid: args.is("skip-invalid"),
    includeServerOwn: args.is("include-server-own"),
    allowSharedCredential: args.is("allow-shared-credential"),
    pauseSites: args.is("pause-sites"),
    replaceSecrets: args.is("replace-secrets"),
    reason: args.text("reason") ?? "",
  };
}

/** Notices after an import. @throws CliFailure (refused) when something is not kept. */
export function endImport(run: CommandRun, reply: ImportReply): void {
  if (!run.args.is("dry-run")) tellOfToken(run, reply);
  tellOfServerOwn(run, reply);
  notePendingSites(run, reply.pendingSites);
  refuseLosses(run, reply);
  refuseReplaced(run, reply);
}

/** `--site`: names of sites here (`OLD=NEW`), and sites of new mounts. */
function readSiteChoice(args: Arguments) {
  const texts = listItems(args.text("site"), "--site");
  const siteNames = Object.fromEntries(
    texts.flatMap((text): [string, string][] => {
      const [old = "", name, ...rest] = text.split("=");
      if (name === undefined) return [];
      if (old === "" || name === "" || rest.length > 0)
        throw usage(`--site ${quote(text)} is not of the form OLD=NEW`);
      return [[old, name]];
    }),
  );
  const names = texts.filter((text) => !text.includes("="));
  return { siteNames, ...(names.length > 0 && { sites: readSites(names.join(",")) }) };
}

/** Members of the replies of imports and restores. */
export type ImportReply = Pick<
  ImportArchiveResponse,
  "results" | "skipped" | "revision" | "pendingSites"
>;

const OUTCOMES = ["created", "changed", "unchanged", "skipped"] as const;

/**
 * Writes the results of an import, an apply or a restore, and their counts.
 *
 * @param options.isPlan whether nothing was changed. Default: the flag --dry-run.
 * @param options.done word for the change in the last line. @param options.to default: standard output.
 */
export async function writeReport(
  { args, output, notice }: CommandRun,
  { results, skipped, revision }: ImportReply,
  {
    isPlan = args.is("dry-run"),
    done = "imported",
    to = output,
  }: { isPlan?: boolean; done?: "imported" | "applied" | "restored"; to?: Output } = {},
): Promise<void> {
  const shown = results.filter(
    ({ outcome, note, missing, kept }) =>
      outcome !== "unchanged" || note !== "" || missing.length + kept.length > 0,
  );
  const rows = [
    ...shown.map((result) => [result.part, result.name, result.outcome, noteOf(result)]),
    ...skipped.map(({ part, count, reason }) => [part, `${count}`, "skipped", reason]),
  ];
  if (rows.length > 0)
    await to.table(
      [
        { title: "PART" },
        { title: "NAME" },
        { title: "OUTCOME" },
        { title: "NOTE", flexible: true },
      ],
      rows,
    );
  const counts = OUTCOMES.map(
    (word) => `${results.filter(({ outcome }) => outcome === word).length} ${word}`,
  );
  const isChange = results.some(({ outcome }) => outcome === "created" || outcome === "changed");
  const begin = isPlan ? "dry run at" : isChange ? `${done},` : "nothing changed,";
  await to.write(`${begin} revision ${revision}: ${counts.join(", ")}\n`);
  if (args.is("dry-run")) notice("nothing was changed");
}

function noteOf(result: ArchiveResult): string {
  const { note, differs, missing, leftOut, replacedSecrets, kept, newer, part } = result;
  // The value is all of a known setting.
  const changed = part === "settings" ? differs.filter((name) => name !== "value") : differs;
  return [
    changed.join(", "),
    note,
    missing.length > 0 ? `without a value: ${missing.join(", ")}` : "",
    leftOut.length > 0 && note === "" ? `not kept: ${leftOut.join(", ")}` : "",
    replacedSecrets.length > 0 ? `replaces the secret ${replacedSecrets.join(", ")}` : "",
    kept.length > 0 ? `stays as it is here: ${kept.join(", ")} (--replace-secrets)` : "",
    newer ? "newer here" : "",
  ]
    .filter((text) => text !== "")
    .join("; ");
}

/** Key of the setting that holds the permanent admin token. */
const TOKEN_KEY = "token";

function tellOfToken({ notice }: CommandRun, { results }: ImportReply): void {
  const token = results.find(({ part, name }) => part === "settings" && name === TOKEN_KEY);
  if (token?.outcome === "changed" || token?.outcome === "created")
    notice("the admin token is now that of the backup; the old one is refused");
}

function tellOfServerOwn({ args, notice }: CommandRun, { results }: ImportReply): void {
  const own = results.flatMap(({ part, name, outcome }) =>
    part === "settings" && outcome === "skipped" && SERVER_OWN_KEYS.has(name) ? [name] : [],
  );
  if (own.length > 0 && !args.is("include-server-own"))
    notice(`${own.join(", ")} left out: --include-server-own imports them too`);
}

/** Exits with 4 when something of the source is not kept, unless that is accepted. */
function refuseLosses({ args }: CommandRun, { results, skipped }: ImportReply): void {
  if (args.is("accept-loss")) return;
  const lossy = results.filter(({ isLoss }) => isLoss).map(({ part, name }) => `${part} ${name}`);
  const parts = skipped.map(({ part, count }) => `${part} (${count})`);
  const all = [...lossy, ...parts];
  if (all.length === 0) return;
  const rest = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : "";
  throw new CliFailure(
    EXIT.refused,
    `not imported as in the file: ${all.slice(0, SHOWN).join(", ")}${rest} (--accept-loss: exit with 0)`,
  );
}

/** A dry run exits with 4 if the command would not go on without a confirmation. */
function refuseReplaced({ args }: CommandRun, { results }: ImportReply): void {
  if (!args.is("dry-run") || args.is("yes") || args.is("replace-secrets")) return;
  const replaced = replacedSecretsOf(results);
  if (replaced.length === 0) return;
  const rest = replaced.length > SHOWN ? ` and ${replaced.length - SHOWN} more` : "";
  throw new CliFailure(
    EXIT.refused,
    `stored secrets would be replaced: ${replaced.slice(0, SHOWN).join("; ")}${rest} (--yes: exit with 0)`,
  );
}

/** Maximum number of names in the message about losses. */
const SHOWN = 10;
