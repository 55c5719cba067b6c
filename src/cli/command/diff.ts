import {
  DiffRevisionsResponseSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { writeChanges } from "../change-table.ts";
import type { Command } from "../command.ts";
import { revisionNumber } from "../quantity.ts";

export const diffCommand: Command = {
  name: "diff",
  usage: ["diff FROM [TO]"],
  summary: "Print what differs between two revisions",
  details: [
    "FROM and TO are numbers of revisions; without TO it is the newest. FROM may be",
    "the later one. The exit code is 0 whether or not something differs.",
  ],
  flags: [],
  offline: true,
  positionals: [1, 2],
  run: async ({ args, output, connect, notice }) => {
    const [first = "", second] = args.positionals;
    const from = revisionNumber(first, "FROM");
    const to = second === undefined ? 0n : revisionNumber(second, "TO");
    const calls = await connect();
    const reply = await calls.unary(SettingService.method.diffRevisions, { from, to });
    if (args.is("json")) return output.json(DiffRevisionsResponseSchema, reply);
    if (reply.changes.length === 0) return notice("nothing differs");
    await writeChanges(output, reply.changes);
  },
};
