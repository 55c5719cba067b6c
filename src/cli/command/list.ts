import { create } from "@bufbuild/protobuf";
import type { Setting } from "../../../gen/mooring/v1/setting_pb.js";
import {
  ListSettingsResponseSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import type { Command } from "../command.ts";
import { readGroups } from "../group.ts";
import { counted } from "../quantity.ts";
import { writeSettings } from "../setting-table.ts";

export const listCommand: Command = {
  name: "list",
  usage: ["list [--group GROUPS] [--changed] [--reveal]"],
  summary: "Print all settings, or some groups of them",
  details: [
    "Groups: 0 single, 1 site, 2 style, 3 preview, 4 global, 5 download, 6 index,",
    "7 sso, 8 ldap, 9 s3, 10 ftp, 11 traffic. Secret values are ******** without",
    "--reveal. On a terminal long values are cut; in a pipe they are whole.",
  ],
  flags: ["group", "changed", "reveal"],
  offline: true,
  positionals: [0, 0],
  run: async ({ args, output, connect, notice }) => {
    const text = args.text("group");
    const groups = text === undefined ? [] : readGroups(text);
    const calls = await connect();
    const { settings: all, revision } = await calls.unary(SettingService.method.listSettings, {
      groups,
      maskSecrets: !args.is("reveal"),
    });
    const settings = args.is("changed") ? all.filter(isChanged) : all;
    if (args.is("json"))
      return output.json(
        ListSettingsResponseSchema,
        create(ListSettingsResponseSchema, { settings, revision }),
      );
    if (settings.length > 0) await writeSettings(output, settings);
    if (output.isTerminal) notice(`${counted(settings.length, "setting")} at revision ${revision}`);
  },
};

/** A masked value can't be compared with the default, but nobody has set what has no revision. */
function isChanged({ secret, value, default: unset, revision }: Setting): boolean {
  return secret ? revision !== 0n : value !== unset;
}
