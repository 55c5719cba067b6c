import { quote } from "../config/complaint.ts";
import { createGlob } from "../database/glob.ts";
import type { CommandRun } from "./command.ts";
import { CliFailure, EXIT } from "./failure.ts";

/** Records that patterns can match. */
export interface Patterned {
  /** Such as `mount`. */
  readonly noun: string;
  /** Reads the records; called if there is a pattern. */
  readonly list: () => Promise<readonly { readonly name: string; readonly path: string }[]>;
}

/**
 * Names of records, with those that match a pattern in place of it, which a notice lists. `*` matches
 * any text of a name; a pattern that begins with a slash is compared with paths. Other names are not
 * changed.
 *
 * @throws CliFailure (not found) for a pattern without a match.
 */
export async function expandPatterns(
  { notice }: Pick<CommandRun, "notice">,
  given: readonly string[],
  { noun, list }: Patterned,
): Promise<readonly string[]> {
  if (!given.some(isPattern)) return given;
  const records = await list();
  const found = given.flatMap((name) => {
    if (!isPattern(name)) return [name];
    const fits = createGlob(name.normalize("NFC"));
    const matching = records.filter((record) =>
      fits(name.startsWith("/") ? record.path : record.name),
    );
    if (matching.length === 0)
      throw new CliFailure(EXIT.notFound, `no ${noun} matches ${quote(name)}; nothing was changed`);
    return matching.map((record) => record.name);
  });
  const names = [...new Set(found)];
  notice(`the patterns match: ${names.join(", ")}`);
  return names;
}

function isPattern(name: string): boolean {
  return name.includes("*");
}
