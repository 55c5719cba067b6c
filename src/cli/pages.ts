import type { CommandRun } from "./command.ts";
import { count } from "./quantity.ts";

/** Items that are asked for at a time. */
const PAGE = 1_000;
const MAX_LIMIT = 1_000_000;

/** How many items somebody wants of a list; all of them unless `--limit` says less. */
export function limitOf({ args }: CommandRun): number {
  const text = args.text("limit");
  return text === undefined ? Number.POSITIVE_INFINITY : count(text, "--limit", MAX_LIMIT);
}

/**
 * Reads a list page by page, until it ends or there is enough of it.
 *
 * @param read asks for a page. @returns its items, and what leads to the next one; empty: nothing does.
 */
export async function readPages<T>(
  limit: number,
  read: (page: {
    readonly pageSize: number;
    readonly pageToken: string;
  }) => Promise<{ readonly items: readonly T[]; readonly next: string }>,
): Promise<{ readonly items: T[]; readonly next: string }> {
  const items: T[] = [];
  let next = "";
  do {
    const page = await read({
      pageSize: Math.min(limit - items.length, PAGE),
      pageToken: next,
    });
    for (const item of page.items) items.push(item);
    next = page.next;
  } while (next !== "" && items.length < limit);
  return { items, next };
}
