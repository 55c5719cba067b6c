import { quote } from "../config/complaint.ts";
import { createGlob } from "../database/glob.ts";
import { CliFailure, EXIT } from "./failure.ts";

/** Mount as a pattern sees it: its name and its paths on all sites. */
export interface NamedMount {
  readonly name: string;
  readonly mountPath: string;
}

/**
 * Names of mounts, with those that match a pattern in place of it. `*` matches any text of a name;
 * a pattern that begins with a slash is compared with paths. Other names are not changed.
 *
 * @param list reads the mounts; called if there is a pattern.
 * @throws CliFailure (not found) for a pattern without a match.
 */
export async function expandMounts(
  names: readonly string[],
  list: () => Promise<readonly NamedMount[]>,
): Promise<readonly string[]> {
  if (!names.some(isPattern)) return names;
  const mounts = await list();
  const found = names.flatMap((name) => {
    if (!isPattern(name)) return [name];
    const fits = createGlob(name.normalize("NFC"));
    const matching = mounts.filter((mount) =>
      fits(name.startsWith("/") ? mount.mountPath : mount.name),
    );
    if (matching.length === 0)
      throw new CliFailure(EXIT.notFound, `no mount matches ${quote(name)}; nothing was changed`);
    return matching.map((mount) => mount.name);
  });
  return [...new Set(found)];
}

function isPattern(name: string): boolean {
  return name.includes("*");
}
