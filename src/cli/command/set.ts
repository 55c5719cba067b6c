import { status } from "@grpc/grpc-js";
import {
  SaveSettingsResponseSchema,
  SettingService,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { type Assignment, readAssignments } from "../assignment.ts";
import { type Caller, CallFailure } from "../caller.ts";
import type { Command } from "../command.ts";
import { revisionNumber } from "../quantity.ts";
import { writeSaved } from "../saved.ts";
import { withNearestKey } from "../unknown-key.ts";

export const setCommand: Command = {
  name: "set",
  usage: ["set KEY=VALUE...", "set KEY VALUE", "set KEY --from-file PATH", "set KEY -"],
  summary: "Save settings, all or none",
  details: [
    "All values of one command are saved as one revision, or none is. KEY - reads",
    "the value from standard input: the way for secrets, because a process list shows",
    "arguments. One line break at the end of a file or input is not part of the value.",
    "A value that is empty clears the setting; unset brings the default back. A key",
    "that does not exist is refused unless --new makes a custom setting of it.",
  ],
  flags: ["from-file", "new", "dry-run", "expect-revision", "reason"],
  offline: true,
  positionals: [1, 1_000],
  run: async (run) => {
    const { args, output } = run;
    const expected = args.text("expect-revision");
    const expectedRevision =
      expected === undefined
        ? {}
        : { expectedRevision: revisionNumber(expected, "--expect-revision") };
    const settings = await readAssignments(args, run.world, run.notice);
    const calls = await run.connect();
    const before = await currentRevision(calls, settings, args.is("new"));
    const dryRun = args.is("dry-run");
    const reply = await calls.unary(SettingService.method.saveSettings, {
      settings,
      dryRun,
      reason: args.text("reason") ?? "",
      ...expectedRevision,
    });
    if (args.is("json")) return output.json(SaveSettingsResponseSchema, reply);
    await writeSaved(output, { ...reply, dryRun, before });
  },
};

/** Fails for a key that does not exist: a slip of the hand would make a custom setting otherwise. */
async function currentRevision(
  calls: Caller,
  settings: readonly Assignment[],
  isNew: boolean,
): Promise<bigint | undefined> {
  const keys = settings.map(({ key }) => key);
  try {
    const read = () =>
      calls.unary(SettingService.method.batchGetSettings, { keys, maskSecrets: true });
    return (await (isNew ? read() : withNearestKey(calls, keys, read))).revision;
  } catch (error) {
    if (!(error instanceof CallFailure) || error.code !== status.NOT_FOUND) throw error;
    if (isNew) return undefined;
    throw new CallFailure({
      code: error.code,
      message: `${error.message} (--new makes a custom setting)`,
      answered: true,
    });
  }
}
