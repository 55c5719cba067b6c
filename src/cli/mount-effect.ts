// Effects of changes on running servers: shown and confirmed before the change.
import type { MountEffect } from "../../gen/mooring/v1/mount_pb.js";
import { counted } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { CliFailure, EXIT } from "./failure.ts";
import { printableLine } from "./output.ts";
import { canAsk, confirm } from "./prompt.ts";

const WORDS: Readonly<Record<string, string>> = {
  remove: "is removed",
  disable: "is disabled",
  remount: "is mounted again",
};

/** Effect on a running server; without a path on the whole site. */
type ServerEffect = Pick<MountEffect, "action" | "site" | "mountPath">;

/** Result with its effects. */
interface Effective {
  readonly name: string;
  readonly outcome: string;
  readonly effects: readonly ServerEffect[];
}

/** Line about an effect, such as `on home, /films is removed`. */
export function effectLine({ action, site, mountPath }: ServerEffect): string {
  if (action === "follow") return printableLine(`${site} follows: Mooring writes to its server`);
  return printableLine(`on ${site}, ${mountPath} ${WORDS[action] ?? action}`);
}

/**
 * Makes a change after its dry run was confirmed.
 *
 * @param question as in `agreeToEffects`. @returns the reply; with `--dry-run` that of the dry run.
 */
export async function confirmed<R extends { readonly results: readonly Effective[] }>(
  run: CommandRun,
  change: (dryRun: boolean) => Promise<R>,
  question?: string,
): Promise<R> {
  if (run.args.is("dry-run")) return change(true);
  if (!run.args.is("yes")) await agreeToEffects(run, (await change(true)).results, question);
  return change(false);
}

/**
 * Asks before a change that removes, disables or mounts again mounts of running servers.
 *
 * @param question asked also without such mounts; undefined: then there is no question.
 * @throws CliFailure (refused) without a terminal and `--yes`, when mounts would be deleted here, or
 *   removed or disabled there; CliFailure (failed) when the answer is no.
 */
export async function agreeToEffects(
  { args, world, notice }: CommandRun,
  results: readonly Effective[],
  question?: string,
): Promise<void> {
  if (args.is("yes")) return;
  const effects = results.flatMap((result) => result.effects);
  const lines = effects.map(effectLine);
  if (!canAsk(world)) {
    const ended = effects.filter(({ action }) => ["remove", "disable"].includes(action)).length;
    const follows = effects.flatMap(({ action, site }) => (action === "follow" ? [site] : []));
    const deleted = results.filter(({ outcome }) => outcome === "deleted").map(({ name }) => name);
    if (ended + deleted.length + follows.length === 0) return;
    const parts = [
      ...(ended > 0
        ? [`${counted(ended, "mount")} of running servers would be removed or disabled`]
        : []),
      ...(deleted.length > 0 ? [`${deleted.join(", ")} would be deleted`] : []),
      ...(follows.length > 0
        ? [`Mooring would write to ${follows.join(", ")} (--pause-sites prevents it)`]
        : []),
    ];
    throw new CliFailure(
      EXIT.refused,
      `nothing was changed: ${parts.join(", ")}; --yes confirms it`,
      lines,
    );
  }
  for (const line of lines) notice(line);
  const asked = question ?? (effects.length > 0 ? "Go on?" : undefined);
  if (asked !== undefined && !(await confirm(world, asked)))
    throw new CliFailure(EXIT.failed, "nothing was changed");
}
