import {
  type RollbackResponse,
  RollbackResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { counted, revisionNumber } from "../argument.ts";
import type { Command, CommandRun } from "../command.ts";
import { CliFailure, EXIT } from "../failure.ts";
import { type Output, printableLine } from "../output.ts";
import { canAsk, confirm } from "../prompt.ts";
import { writeChanges } from "../setting-table.ts";

export const rollbackCommand: Command = {
  name: "rollback",
  usage: ["rollback REVISION [KEY...] [--dry-run] [--yes]"],
  summary: "Restore settings of an earlier revision",
  details: [
    "Restores all settings that have changed since, or only the given keys, as a new",
    "revision, which can itself be rolled back. On a terminal it shows the changes and",
    "asks for confirmation, except with --yes. Secret settings cannot be restored,",
    "because the history does not contain their values; they are listed as skipped.",
  ],
  flags: ["dry-run", "expect-revision", "reason", "yes"],
  offline: true,
  positionals: [1, 1_001],
  run: async (run) => {
    const { args, output, world } = run;
    const [first = "", ...keys] = args.positionals;
    const expected = args.text("expect-revision");
    const request = {
      to: revisionNumber(first, "REVISION"),
      keys,
      reason: args.text("reason") ?? "",
      ...(expected === undefined
        ? {}
        : { expectedRevision: revisionNumber(expected, "--expect-revision") }),
    };
    const client = await run.connect();
    const asks = canAsk(world) && !args.is("yes");
    const preview =
      asks || args.is("dry-run") ? await client.rollback({ ...request, dryRun: true }) : undefined;
    if (preview !== undefined && (args.is("dry-run") || preview.changes.length === 0))
      return writeResult(run, preview, args.is("dry-run"));
    // The rollback is bound to the shown revision: a change in between is a conflict.
    const shown =
      preview === undefined ? {} : { expectedRevision: await agreed(run, preview, request.to) };
    const reply = await client.rollback({ ...request, ...shown });
    if (args.is("json") || preview === undefined) return writeResult(run, reply, false);
    await output.write(`${done(reply)}\n`);
  },
};

/** Shows the changes and asks for confirmation. @returns the revision of the preview. */
async function agreed(run: CommandRun, preview: RollbackResponse, to: bigint): Promise<bigint> {
  const asking = run.errors;
  await writeTables(asking, preview);
  const question = `Restore ${counted(preview.changes.length, "setting")} to revision ${to}?`;
  if (!(await confirm(run.world, question)))
    throw new CliFailure(EXIT.failed, "nothing was changed");
  return preview.revision;
}

async function writeResult(
  { args, output }: CommandRun,
  reply: RollbackResponse,
  dryRun: boolean,
): Promise<void> {
  if (args.is("json")) return output.json(RollbackResponseSchema, reply);
  await writeTables(output, reply);
  await output.write(
    dryRun
      ? `dry run: ${counted(reply.changes.length, "setting")} would change\n`
      : `${done(reply)}\n`,
  );
}

function done({ changes, revision }: RollbackResponse): string {
  return changes.length === 0
    ? `nothing to restore: still revision ${revision}`
    : `restored ${counted(changes.length, "setting")}: revision ${revision}`;
}

async function writeTables(output: Output, reply: RollbackResponse): Promise<void> {
  if (reply.changes.length > 0) await writeChanges(output, reply.changes);
  for (const { key, reason } of reply.skipped)
    await output.write(`${printableLine(`skipped ${key}: ${reason}`)}\n`);
}
