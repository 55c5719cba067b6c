// The commands export and import.

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type ImportedSetting,
  ImportedSettingSchema,
  ImportOutcome,
  type ImportSettingsResponse,
  ImportSettingsResponseSchema,
  SecretsMode,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { quote } from "../../config/complaint.ts";
import { choice } from "../../config/value.ts";
import { SERVER_OWN_KEYS } from "../../settings/server-own.ts";
import { type Arguments, counted } from "../argument.ts";
import type { Command, CommandRun } from "../command.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { existsAlready, writeNewFile } from "../file.ts";
import { printableJson } from "../output.ts";
import { askPassphrase, givenPassphrase, newPassphrase } from "../secret.ts";
import { noticePending } from "../setting-table.ts";

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

export const exportCommand: Command = {
  name: "export",
  usage: ["export [FILE] [--secrets MODE] [--passphrase-file PATH] [--force]"],
  summary: "Write a backup of all settings",
  details: [
    "Writes to FILE atomically, readable only by its owner, or to standard output.",
    "Secret settings are omitted, sealed with a passphrase (from --passphrase-file or",
    "MOORING_PASSPHRASE, otherwise typed), or written in the clear. import reads the",
    "file.",
  ],
  flags: ["secrets", "passphrase-file", "force"],
  offline: true,
  positionals: [0, 1],
  run: async (run) => {
    const { args, world, output } = run;
    const mode = readMode(args);
    const [file = "-"] = args.positionals;
    const path = file === "-" ? undefined : resolve(world.cwd, file);
    if (path === undefined && args.is("force")) throw usage("--force requires FILE");
    if (path !== undefined && !args.is("force")) await checkFree(path);
    const passphrase = mode === "seal" ? await newPassphrase(args, world) : "";
    const client = await run.connect();
    const { document } = await client.exportSettings({
      secrets: MODES[mode],
      passphrase,
    });
    if (document === undefined)
      throw new CliFailure(EXIT.failed, "the service sent no backup; nothing was written");
    const text = `${JSON.stringify(document, undefined, 2)}\n`;
    if (path === undefined) return output.write(output.isTerminal ? printableJson(text) : text);
    await writeNewFile(path, async () => text, { force: args.is("force") });
    await writeSummary(run, { document, file, mode });
  },
};

function readMode(args: Arguments): keyof typeof MODES {
  const text = args.text("secrets") ?? "omit";
  const parsed = choice("omit", "seal", "clear")(text, { cwd: "/", parallelism: 1 });
  if ("complaint" in parsed) throw usage(`--secrets ${quote(text)} ${parsed.complaint}`);
  if (parsed.value !== "seal" && args.text("passphrase-file") !== undefined)
    throw usage("--passphrase-file requires --secrets seal");
  return parsed.value;
}

/** Fails early, before a passphrase is typed; the write checks again. */
async function checkFree(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined) throw existsAlready(path);
}

async function writeSummary(
  { args, output }: CommandRun,
  written: { document: JsonObject; file: string; mode: keyof typeof MODES },
): Promise<void> {
  const { document, file, mode } = written;
  const { settings, revision = 0 } = document;
  const count = Array.isArray(settings) ? settings.length : 0;
  if (args.is("json"))
    return output.write(
      `${JSON.stringify({ file, revision: String(revision), settings: count, secrets: mode }, undefined, 2)}\n`,
    );
  await output.value(
    `exported ${counted(count, "setting")} of revision ${String(revision)} to ${file}; ${FATE[mode]}\n`,
  );
}

/** Key of the setting that holds the permanent admin token. */
const TOKEN_KEY = "token";

/** Part of a page's backup with the mounts. */
const STORAGES = "storages";

const OUTCOMES: readonly (readonly [ImportOutcome, string])[] = [
  [ImportOutcome.ADDED, "added"],
  [ImportOutcome.CHANGED, "changed"],
  [ImportOutcome.UNCHANGED, "unchanged"],
  [ImportOutcome.SKIPPED, "skipped"],
];

export const importCommand: Command = {
  name: "import",
  usage: [
    "import FILE [--dry-run] [--skip-invalid] [--passphrase-file PATH]",
    "import FILE [--include-server-own]",
  ],
  summary: "Import a backup, or the settings of an AList or OpenList server",
  details: [
    "FILE is a file of export, a backup file of the AList or OpenList web page (plain",
    "or encrypted), or the SQLite database of such a server with any table prefix; - is",
    "a JSON backup on standard input. All settings are saved as one revision, or none;",
    "--skip-invalid skips invalid values. The passphrase comes from --passphrase-file",
    "or MOORING_PASSPHRASE, otherwise it is typed. The token of an export becomes the",
    "token of this service; that of an AList or OpenList server, its version and its",
    "index_progress are skipped unless --include-server-own is given.",
  ],
  flags: ["dry-run", "include-server-own", "skip-invalid", "passphrase-file", "table", "reason"],
  offline: true,
  positionals: [1, 1],
  run: async (run) => {
    const { args, world, output } = run;
    const [file = ""] = args.positionals;
    const given = givenPassphrase(args, world);
    // Imported on demand: it loads SQLite, which no other client command needs.
    const { readBackupFile } = await import("../backup-file.ts");
    const backup = await readBackupFile({ file, table: args.text("table") }, world);
    const passphrase = given ?? (backup.isSealed ? await askPassphrase(world) : undefined);
    const client = await run.connect();
    const reply = await client.importSettings({
      document: backup.document,
      passphrase: passphrase ?? "",
      dryRun: args.is("dry-run"),
      skipInvalid: args.is("skip-invalid"),
      includeServerOwn: args.is("include-server-own"),
      reason: args.text("reason") ?? "",
    });
    reply.settings.push(...backup.skipped.map(toSkipped));
    await (args.is("json")
      ? output.json(ImportSettingsResponseSchema, reply)
      : writeReport(run, reply));
    if (!args.is("dry-run")) tellOfToken(run, reply);
    tellOfLeftOut(run, reply, file);
    noticePending(run, reply.pendingSites);
  },
};

function toSkipped(skipped: { readonly key: string; readonly reason: string }): ImportedSetting {
  return create(ImportedSettingSchema, { ...skipped, outcome: ImportOutcome.SKIPPED });
}

async function writeReport({ args, output }: CommandRun, reply: ImportSettingsResponse) {
  const rows = OUTCOMES.filter(([outcome]) => outcome !== ImportOutcome.UNCHANGED).flatMap(
    ([outcome, word]) =>
      reply.settings
        .filter((setting) => setting.outcome === outcome)
        .map(({ key, reason }) => [key, word, reason]),
  );
  if (rows.length > 0)
    await output.table(
      [{ title: "KEY" }, { title: "OUTCOME" }, { title: "REASON", flexible: true }],
      rows,
    );
  const counts = OUTCOMES.map(
    ([outcome, word]) =>
      `${reply.settings.filter((setting) => setting.outcome === outcome).length} ${word}`,
  );
  const isChange = reply.settings.some(
    ({ outcome }) => outcome === ImportOutcome.ADDED || outcome === ImportOutcome.CHANGED,
  );
  const begin = args.is("dry-run") ? "dry run at" : isChange ? "imported," : "nothing changed,";
  await output.write(`${begin} revision ${reply.revision}: ${counts.join(", ")}\n`);
}

/** Names the commands that import what this one has left out. */
function tellOfLeftOut(
  { args, notice }: CommandRun,
  { settings }: ImportSettingsResponse,
  file: string,
): void {
  const skipped = settings
    .filter(({ outcome }) => outcome === ImportOutcome.SKIPPED)
    .map(({ key }) => key);
  const own = skipped.filter((key) => SERVER_OWN_KEYS.has(key));
  if (own.length > 0 && !args.is("include-server-own"))
    notice(`${own.join(", ")} left out: --include-server-own imports them too`);
  if (skipped.includes(STORAGES))
    notice(`the mounts are left out: "mooring mount import ${file}" imports them`);
}

function tellOfToken({ notice }: CommandRun, { settings }: ImportSettingsResponse): void {
  const token = settings.find(({ key }) => key === TOKEN_KEY);
  if (token?.outcome === ImportOutcome.CHANGED || token?.outcome === ImportOutcome.ADDED)
    notice("the admin token is now that of the backup; the old one is refused");
}
