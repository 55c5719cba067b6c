import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { SecretsMode, SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { quote } from "../../config/quote.ts";
import { choice } from "../../config/value.ts";
import type { Arguments } from "../argument.ts";
import type { Command, CommandRun } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { CliFailure, usage } from "../failure.ts";
import { existsAlready, writeNewFile } from "../new-file.ts";
import { newPassphrase } from "../passphrase.ts";
import { printableJson } from "../printable.ts";
import { counted } from "../quantity.ts";

const MODES = {
  omit: SecretsMode.OMIT,
  seal: SecretsMode.SEAL,
  clear: SecretsMode.CLEAR,
} as const;

const FATE = {
  omit: "secrets are left out",
  seal: "secrets are sealed",
  clear: "secrets are in the clear",
} as const;

export const exportCommand: Command = {
  name: "export",
  usage: ["export [FILE] [--secrets MODE] [--passphrase-file PATH] [--force]"],
  summary: "Write a backup of all settings",
  details: [
    "To FILE, which only its owner may read and which is whole or not there at all,",
    "or to standard output. Secret settings are left out, sealed with a passphrase",
    "(of --passphrase-file or MOORING_PASSPHRASE, else asked for), or with clear",
    "written as they are. import reads the file.",
  ],
  flags: ["secrets", "passphrase-file", "force"],
  offline: true,
  positionals: [0, 1],
  run: async (run) => {
    const { args, world, output } = run;
    const mode = readMode(args);
    const [file = "-"] = args.positionals;
    const path = file === "-" ? undefined : resolve(world.cwd, file);
    if (path === undefined && args.is("force")) throw usage("--force goes with a FILE");
    if (path !== undefined && !args.is("force")) await checkFree(path);
    const passphrase = mode === "seal" ? await newPassphrase(args, world) : "";
    const calls = await run.connect();
    const { document } = await calls.unary(SettingService.method.exportSettings, {
      secrets: MODES[mode],
      passphrase,
    });
    if (document === undefined)
      throw new CliFailure(EXIT.failed, "the service sent no backup; nothing was written");
    const text = `${JSON.stringify(document, undefined, 2)}\n`;
    if (path === undefined) return output.write(output.isTerminal ? printableJson(text) : text);
    await writeNewFile(path, text, { force: args.is("force") });
    await writeSummary(run, { document, file, mode });
  },
};

function readMode(args: Arguments): keyof typeof MODES {
  const text = args.text("secrets") ?? "omit";
  const parsed = choice("omit", "seal", "clear")(text, { cwd: "/", parallelism: 1 });
  if ("complaint" in parsed) throw usage(`--secrets ${quote(text)} ${parsed.complaint}`);
  if (parsed.value !== "seal" && args.text("passphrase-file") !== undefined)
    throw usage("--passphrase-file goes with --secrets seal");
  return parsed.value;
}

/** Early, before somebody types a passphrase; the write itself makes sure. */
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
