// Effects of changes on running servers: shown and confirmed before the change.
import type { Effect } from "../../gen/mooring/v1/effect_pb.js";
import { counted } from "./argument.ts";
import type { CommandRun } from "./command.ts";
import { CliFailure, EXIT } from "./failure.ts";
import { type Output, printableLine } from "./output.ts";
import { canAsk, confirm } from "./prompt.ts";

const WORDS: Readonly<Record<string, string>> = {
  remove: "is removed",
  disable: "is disabled",
  remount: "is mounted again",
  change: "is overwritten",
};

/** What a person calls a record of a kind at a path. */
const NOUNS: Readonly<Record<string, string>> = { mount: "", rule: "the rule of " };

/** Effect on a running server; without a path on the whole site. */
type ServerEffect = Pick<Effect, "action" | "site" | "kind" | "path">;

/** Result with its effects. */
interface Effective {
  /** Part of an archive; absent: all results are of one part. */
  readonly part?: string;
  readonly name: string;
  readonly outcome: string;
  /** Stored secrets that the change replaces or removes. Absent: they are not named. */
  readonly replacedSecrets?: readonly string[];
  readonly effects: readonly ServerEffect[];
}

/** Line about an effect, such as `on home, /films is removed`. */
export function effectLine({ action, site, kind, path }: ServerEffect): string {
  if (action === "follow") return printableLine(`${site} follows: Mooring writes to its server`);
  if (action === "open")
    return printableLine(
      kind === "mount"
        ? `on ${site}, the mount at ${path} moves, its folder rules stay: more people can read, see or write it than now (mooring rule move)`
        : `on ${site}, ${path} opens: more people can read, see or write it than now`,
    );
  return printableLine(`on ${site}, ${NOUNS[kind] ?? ""}${path} ${WORDS[action] ?? action}`);
}

/** Stored secrets that a change replaces, such as `mounts films: config/password`. */
export function replacedSecretsOf(results: readonly Effective[]): readonly string[] {
  return results.flatMap(({ part = "", name, replacedSecrets = [] }) =>
    replacedSecrets.length === 0
      ? []
      : [printableLine(`${`${part} ${name}`.trim()}: ${replacedSecrets.join(", ")}`)],
  );
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
 * Asks before a change with effects on running servers, or one that replaces stored secrets.
 *
 * @param question asked also without effects; undefined: then there is no question.
 * @throws CliFailure (refused) without a terminal and `--yes`, when records would be deleted or secrets
 *   replaced here, or records removed, disabled or opened there; CliFailure (failed) when the answer is
 *   no.
 */
export async function agreeToEffects(
  { args, world, notice }: CommandRun,
  results: readonly Effective[],
  question?: string,
): Promise<void> {
  if (args.is("yes")) return;
  const effects = results.flatMap((result) => result.effects);
  const replaced = replacedSecretsOf(results);
  const lines = [
    ...effects.map(effectLine),
    ...replaced.map((line) => `a stored secret is replaced: ${line}`),
  ];
  if (!canAsk(world)) {
    const ended = effects.filter(({ action }) => ["remove", "disable"].includes(action));
    const opened = effects.filter(({ action }) => action === "open").length;
    const follows = effects.flatMap(({ action, site }) => (action === "follow" ? [site] : []));
    const deleted = results.filter(({ outcome }) => outcome === "deleted").map(({ name }) => name);
    const count = ended.length + opened + deleted.length + follows.length + replaced.length;
    if (count === 0) return;
    const parts = [
      ...["mount", "rule"].flatMap((kind) => {
        const ofKind = ended.filter((effect) => effect.kind === kind).length;
        return ofKind > 0
          ? [`${counted(ofKind, kind)} of running servers would be removed or disabled`]
          : [];
      }),
      ...(opened > 0 ? [`${counted(opened, "folder")} of running servers would be opened`] : []),
      ...(replaced.length > 0 ? ["stored secrets would be replaced"] : []),
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
  const asked = question ?? (lines.length > 0 ? "Go on?" : undefined);
  if (asked !== undefined && !(await confirm(world, asked)))
    throw new CliFailure(EXIT.failed, "nothing was changed");
}

/** Result for one record. */
interface RecordLine extends Effective {
  /** Absent: all results are of one kind. */
  readonly kind?: string;
  readonly note: string;
  readonly differs: readonly string[];
}

/** Prints the results of records, a line each. */
export async function writeResults(output: Output, results: readonly RecordLine[]): Promise<void> {
  await output.write(
    results
      .map(({ kind = "", name, outcome, note, differs, effects }) => {
        const what = [differs.join(", "), note].filter((text) => text !== "").join("; ");
        const line = printableLine(
          `${kind === "rule" ? "rule " : ""}${name}: ${outcome}${what === "" ? "" : ` (${what})`}`,
        );
        return [line, ...effects.map((effect) => `  ${effectLine(effect)}`)].join("\n");
      })
      .map((lines) => `${lines}\n`)
      .join(""),
  );
}
