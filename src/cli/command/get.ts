import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import {
  BatchGetSettingsResponseSchema,
  GetSettingResponseSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { Command, CommandRun } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { CliFailure } from "../failure.ts";
import { writeSettings } from "../setting-table.ts";
import { withNearestKey } from "../unknown-key.ts";

/** What the service sends in place of a secret value. */
const MASK = "********";

export const getCommand: Command = {
  name: "get",
  usage: ["get KEY...", "get --reveal KEY..."],
  summary: "Print the value of a setting, or several as a table",
  details: [
    "One key prints the bare value and a line break, as $(mooring get site_title)",
    "wants it. Secret values are printed only with --reveal: on a terminal ********",
    "stands for them; in a pipe or file, where the mask could be taken for the value,",
    "the command is refused instead (exit code 4).",
  ],
  flags: ["reveal"],
  offline: true,
  positionals: [1, 1_000],
  run: async (run) => {
    const [key = "", ...others] = run.args.positionals;
    await (others.length === 0 ? getOne(run, key) : getSeveral(run));
  },
};

async function getOne(run: CommandRun, key: string): Promise<void> {
  const { output, args } = run;
  const calls = await run.connect();
  const maskSecrets = !args.is("reveal");
  const reply = await withNearestKey(calls, [key], () =>
    calls.unary(SettingService.method.getSetting, { key, maskSecrets }),
  );
  checkMasks(run, reply.setting === undefined ? [] : [reply.setting]);
  if (args.is("json")) return output.json(GetSettingResponseSchema, reply);
  await output.value(`${reply.setting?.value ?? ""}\n`);
}

async function getSeveral(run: CommandRun): Promise<void> {
  const { output, args } = run;
  const keys = [...args.positionals];
  const calls = await run.connect();
  const maskSecrets = !args.is("reveal");
  const reply = await withNearestKey(calls, keys, () =>
    calls.unary(SettingService.method.batchGetSettings, { keys, maskSecrets }),
  );
  checkMasks(run, reply.settings);
  if (args.is("json")) return output.json(BatchGetSettingsResponseSchema, reply);
  await writeSettings(output, reply.settings);
}

/** A mask is for eyes. A program would take it for the value. */
function checkMasks({ args, output, notice }: CommandRun, settings: readonly Setting[]): void {
  if (args.is("reveal")) return;
  const masked = settings.filter(({ secret, value }) => secret && value === MASK);
  if (masked.length === 0) return;
  const keys = masked.map(({ key }) => key).join(", ");
  if (!output.isTerminal)
    throw new CliFailure(EXIT.refused, `${keys}: secret; --reveal prints the value`);
  notice(`${keys}: secret; --reveal shows the value`);
}
