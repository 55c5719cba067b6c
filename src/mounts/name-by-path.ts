import type { Grant } from "../access/grant.ts";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { toNfc } from "../nfc.ts";
import { pathsOf } from "../sites/site-choice.ts";
import { cleanPath } from "../sites/site-path.ts";
import { SITE_MOUNTS } from "./kind.ts";
import type { Mount } from "./mount.ts";

/** Maximum number of mounts that a message names. */
const NAMED = 10;

/**
 * Creates a function that returns the name of the mount that a request names by its name or a path
 * on any site. Other text is not changed.
 *
 * @throws INVALID_ARGUMENT for a path of several mounts.
 */
export function nameByPath(
  mounts: () => ReadonlyMap<string, Mount>,
): (text: string, grant: Grant) => string {
  return (text, grant) => {
    if (!text.startsWith("/")) return toNfc(text);
    const all = byPath(mounts()).get(cleanPath(text)) ?? [];
    const found = all.filter((mount) => SITE_MOUNTS.isAllowed(grant, mount));
    const [only, ...others] = found;
    if (only === undefined) return text;
    if (others.length === 0) return only.name;
    const names = found.slice(0, NAMED).map(({ name }) => name);
    throw invalid([
      { field: "name", description: message("PATH_OF_MOUNTS", { names: names.join(", ") }) },
    ]);
  };
}

const byPath = memoize((mounts: ReadonlyMap<string, Mount>) => {
  const pairs = [...mounts.values()].flatMap((mount) =>
    [...new Set(pathsOf(mount))].map((path) => ({ path, mount })),
  );
  return new Map(
    [...Map.groupBy(pairs, ({ path }) => path)].map(([path, all]) => [
      path,
      all.map(({ mount }) => mount),
    ]),
  );
});
