import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type ImportedSetting,
  ImportedSettingSchema,
  ImportOutcome,
  type ImportSettingsResponse,
  ImportSettingsResponseSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { Command, CommandRun } from "../command.ts";
import { askPassphrase, givenPassphrase } from "../passphrase.ts";

/** Key of the setting that holds the permanent admin token. */
const TOKEN_KEY = "token";

const OUTCOMES: readonly (readonly [ImportOutcome, string])[] = [
  [ImportOutcome.ADDED, "added"],
  [ImportOutcome.CHANGED, "changed"],
  [ImportOutcome.UNCHANGED, "unchanged"],
  [ImportOutcome.SKIPPED, "skipped"],
];

export const importCommand: Command = {
  name: "import",
  usage: ["import FILE [--dry-run] [--skip-invalid] [--passphrase-file PATH]"],
  summary: "Read a backup, or the settings of an AList or OpenList server",
  details: [
    "FILE is what export has written, the backup file of the AList or OpenList web",
    "page (plain or encrypted), or the SQLite database of such a server, whatever the",
    "prefix of its tables; - is a JSON backup on standard input. Everything is saved",
    "as one revision or not at all; --skip-invalid leaves out wrong values. The",
    "passphrase is that of --passphrase-file or MOORING_PASSPHRASE, else asked for.",
    "A token that stands in the backup becomes the token of this service.",
  ],
  flags: ["dry-run", "skip-invalid", "passphrase-file", "table", "reason"],
  offline: true,
  positionals: [1, 1],
  run: async (run) => {
    const { args, world, output } = run;
    const [file = ""] = args.positionals;
    const given = givenPassphrase(args, world);
    // Apart: it loads a database that no other command of a client needs.
    const { readBackupFile } = await import("../backup-file.ts");
    const backup = await readBackupFile({ file, table: args.text("table") }, world);
    const passphrase = given ?? (backup.isSealed ? await askPassphrase(world) : undefined);
    const calls = await run.connect();
    const reply = await calls.unary(SettingService.method.importSettings, {
      document: backup.document as JsonObject,
      passphrase: passphrase ?? "",
      dryRun: args.is("dry-run"),
      skipInvalid: args.is("skip-invalid"),
      reason: args.text("reason") ?? "",
    });
    reply.settings.push(...backup.skipped.map(toSkipped));
    await (args.is("json")
      ? output.json(ImportSettingsResponseSchema, reply)
      : writeReport(run, reply));
    if (!args.is("dry-run")) tellOfToken(run, reply);
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
  const begin = args.is("dry-run") ? "dry run, still" : "imported,";
  await output.write(`${begin} revision ${reply.revision}: ${counts.join(", ")}\n`);
}

function tellOfToken({ notice }: CommandRun, { settings }: ImportSettingsResponse): void {
  const token = settings.find(({ key }) => key === TOKEN_KEY);
  if (token?.outcome === ImportOutcome.CHANGED || token?.outcome === ImportOutcome.ADDED)
    notice("the admin token is now the one of the backup; the old one is refused");
}
