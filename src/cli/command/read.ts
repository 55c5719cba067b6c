// The commands get and list.

import { create } from "@bufbuild/protobuf";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import {
  BatchGetSettingsResponseSchema,
  GetSettingResponseSchema,
  ListSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { isChanged } from "../../client/changed.ts";
import { counted } from "../argument.ts";
import { withNearestKey } from "../call-failure.ts";
import type { Command, CommandRun } from "../command.ts";
import { CliFailure, EXIT } from "../failure.ts";
import { readGroups } from "../setting-group.ts";
import { writeSettings } from "../setting-table.ts";

/** Replaces a secret value in replies of the service. */
const MASK = "********";

export const getCommand: Command = {
  name: "get",
  usage: ["get KEY...", "get --reveal KEY..."],
  summary: "Print the value of a setting, or several as a table",
  details: [
    "One key prints the bare value and a line break, for $(mooring get site_title).",
    "Secret values are printed only with --reveal. Without it, a terminal shows",
    "********, and a pipe or file makes the command fail (exit code 4), because a",
    "program would read the mask as the value.",
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
  const client = await run.connect();
  const maskSecrets = !args.is("reveal");
  const reply = await withNearestKey(client, [key], () => client.getSetting({ key, maskSecrets }));
  checkMasks(run, reply.setting === undefined ? [] : [reply.setting]);
  if (args.is("json")) return output.json(GetSettingResponseSchema, reply);
  await output.value(`${reply.setting?.value ?? ""}\n`);
}

async function getSeveral(run: CommandRun): Promise<void> {
  const { output, args } = run;
  const keys = [...args.positionals];
  const client = await run.connect();
  const maskSecrets = !args.is("reveal");
  const reply = await withNearestKey(client, keys, () =>
    client.batchGetSettings({ keys, maskSecrets }),
  );
  checkMasks(run, reply.settings);
  if (args.is("json")) return output.json(BatchGetSettingsResponseSchema, reply);
  await writeSettings(output, reply.settings);
}

/** Rejects masked values in output for programs, which would read a mask as the value. */
function checkMasks({ args, output, notice }: CommandRun, settings: readonly Setting[]): void {
  if (args.is("reveal")) return;
  const masked = settings.filter(({ secret, value }) => secret && value === MASK);
  if (masked.length === 0) return;
  const keys = masked.map(({ key }) => key).join(", ");
  if (!output.isTerminal)
    throw new CliFailure(EXIT.refused, `${keys}: secret; --reveal prints the value`);
  notice(`${keys}: secret; --reveal shows the value`);
}

export const listCommand: Command = {
  name: "list",
  usage: ["list [--group GROUPS] [--changed] [--reveal]"],
  summary: "Print all settings, or some groups of them",
  details: [
    "Groups: 0 single, 1 site, 2 style, 3 preview, 4 global, 5 download, 6 index,",
    "7 sso, 8 ldap, 9 s3, 10 ftp, 11 traffic. Secret values are ******** without",
    "--reveal. A terminal shows shortened values, a pipe or file whole ones.",
  ],
  flags: ["group", "changed", "reveal"],
  offline: true,
  positionals: [0, 0],
  instead: "--group GROUPS, or get KEY for one setting",
  run: async ({ args, output, connect, notice }) => {
    const text = args.text("group");
    const groups = text === undefined ? [] : readGroups(text);
    const client = await connect();
    const {
      settings: all,
      revision,
      etag,
    } = await client.listSettings({
      groups,
      maskSecrets: !args.is("reveal"),
    });
    const settings = args.is("changed") ? all.filter(isChanged) : all;
    if (args.is("json"))
      return output.json(
        ListSettingsResponseSchema,
        create(ListSettingsResponseSchema, { settings, revision, etag }),
      );
    if (settings.length > 0) await writeSettings(output, settings);
    if (output.isTerminal) notice(`${counted(settings.length, "setting")} at revision ${revision}`);
  },
};
