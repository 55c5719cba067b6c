import { failedPrecondition } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import { findClash, type PathIndex } from "./path-index.ts";
import type { OnSites } from "./site-choice.ts";

/**
 * Checks that no restored record has the path of another record on the same site.
 *
 * @param records all records after the restore. @param describe the other record for the message: one
 *   that the caller may not read is not named.
 * @throws FAILED_PRECONDITION that names both.
 */
export async function checkRestoredPaths<R extends OnSites>(
  results: readonly { readonly name: string; readonly outcome: string }[],
  records: PathIndex<R>,
  siteIds: readonly string[],
  describe: (other: R) => Text,
): Promise<void> {
  const ticks = createTicks();
  for (const { name, outcome } of results) {
    if (outcome === "skipped") continue;
    if (ticks.isDue()) await ticks.next();
    const record = records.get(name);
    const clash = record && findClash(name, record, records, siteIds);
    if (clash === undefined) continue;
    const whose = describe(clash.other);
    throw failedPrecondition(message("ROLLBACK_PATH_TAKEN", { name, whose }));
  }
}
