import type { RollbackResult } from "../../../gen/mooring/v1/history_pb.js";
import {
  type RollbackResponse,
  RollbackResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { counted, revisionNumber } from "../argument.ts";
import { writeChanges } from "../change-table.ts";
import type { Command, CommandRun } from "../command.ts";
import { agreeToEffects, effectLine } from "../effect.ts";
import { CliFailure, EXIT } from "../failure.ts";
import { type Output, printableLine } from "../output.ts";
import { canAsk } from "../prompt.ts";
import { notePendingSites } from "../saved.ts";

export const rollbackCommand: Command = {
  name: "rollback",
  usage: ["rollback REVISION [KEY...] [--only NAME]... [--dry-run] [--yes] [--accept-loss]"],
  summary: "Restore everything that changed after a revision",
  details: [
    "Restores settings and mounts as they were, as one new revision, which can itself be",
    "rolled back. --only narrows it: settings, mounts, a key, or the name or path of a",
    "mount (setting:NAME and mount:NAME if both have it); a KEY is the same as --only KEY.",
    "On a terminal it shows the changes, what they remove, disable or mount again on",
    "running servers, and asks; without one, removals need --yes. Secrets are not in the",
    "history: what is not restored is listed with its reason, and the exit code is 4,",
    "unless --accept-loss is given.",
  ],
  flags: ["accept-loss", "dry-run", "expect-etag", "only", "reason", "yes"],
  offline: true,
  positionals: [1, 1_001],
  run: async (run) => {
    const { args } = run;
    const [first = "", ...keys] = args.positionals;
    const expectedEtag = args.text("expect-etag");
    const request = {
      to: revisionNumber(first, "REVISION"),
      only: [...keys, ...args.texts("only")],
      reason: args.text("reason") ?? "",
      ...(expectedEtag !== undefined && { expectedEtag }),
    };
    const client = await run.connect();
    const isDry = args.is("dry-run");
    const preview =
      isDry || !args.is("yes") ? await client.rollback({ ...request, dryRun: true }) : undefined;
    if (preview !== undefined && (isDry || countOf(preview) === 0))
      return writeResult(run, preview, isDry);
    if (preview !== undefined) await agree(run, preview, request.to);
    // The rollback is bound to the shown revision: a change in between is a conflict.
    const shown = preview === undefined ? {} : { expectedEtag: preview.etag };
    const reply = await client.rollback({ ...request, ...shown });
    if (args.is("json") || preview === undefined || !canAsk(run.world))
      return writeResult(run, reply, false);
    await run.output.write(`${done(reply)}\n`);
    notePendingSites(run, reply.pendingSites);
    refuseLosses(run, reply);
  },
};

/** Shows the changes with their effects, and asks for confirmation. */
async function agree(run: CommandRun, preview: RollbackResponse, to: bigint): Promise<void> {
  if (canAsk(run.world)) await writeDetails(run.errors, preview);
  const results = preview.results.map(({ key, outcome, effects }) => ({
    name: key,
    outcome,
    effects,
  }));
  await agreeToEffects(run, results, `Restore ${restored(preview)} to revision ${to}?`);
}

async function writeResult(
  run: CommandRun,
  reply: RollbackResponse,
  dryRun: boolean,
): Promise<void> {
  const { args, output } = run;
  if (args.is("json")) await output.json(RollbackResponseSchema, reply);
  else {
    await writeDetails(output, reply);
    await writeEffects(output, reply);
    await output.write(dryRun ? `dry run: ${restored(reply)} would change\n` : `${done(reply)}\n`);
  }
  notePendingSites(run, reply.pendingSites);
  refuseLosses(run, reply);
}

function done(reply: RollbackResponse): string {
  return countOf(reply) === 0
    ? `nothing to restore: still revision ${reply.revision}`
    : `restored ${restored(reply)}: revision ${reply.revision}`;
}

function isRestored({ outcome }: RollbackResult): boolean {
  return outcome !== "skipped" && outcome !== "unchanged";
}

function countOf({ results }: RollbackResponse): number {
  return results.filter(isRestored).length;
}

/** Number of restored records by kind, such as `2 settings, 1 mount`. */
function restored({ results }: RollbackResponse): string {
  const kinds = Map.groupBy(results.filter(isRestored), ({ kind }) => kind);
  if (kinds.size === 0) return "nothing";
  return [...kinds].map(([kind, all]) => counted(all.length, kind)).join(", ");
}

/** Writes the changes, and what is not restored with the reasons. */
async function writeDetails(output: Output, { changes, results }: RollbackResponse): Promise<void> {
  if (changes.length > 0) await writeChanges(output, changes);
  for (const { key, outcome, note } of results)
    if (note !== "")
      await output.write(
        `${printableLine(`${outcome === "skipped" ? "skipped " : ""}${key}: ${note}`)}\n`,
      );
}

async function writeEffects(output: Output, { results }: RollbackResponse): Promise<void> {
  for (const effect of results.flatMap(({ effects }) => effects))
    await output.write(`${effectLine(effect)}\n`);
}

/** Exits with 4 when something is not restored, unless that is accepted. */
function refuseLosses({ args }: CommandRun, { results }: RollbackResponse): void {
  if (args.is("accept-loss")) return;
  const lost = results.filter(
    ({ outcome, notRestored }) => outcome === "skipped" || notRestored.length > 0,
  );
  if (lost.length === 0) return;
  const keys = lost.map(({ key }) => key).join(", ");
  throw new CliFailure(
    EXIT.refused,
    printableLine(`not restored, or not as a whole: ${keys} (--accept-loss: exit with 0)`),
  );
}
