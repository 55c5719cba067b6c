import { count } from "./argument.ts";
import type { CommandRun } from "./command.ts";

/** Items per request. */
const PAGE = 1_000;
const MAX_LIMIT = 1_000_000;

/** Number of items to list; without `--limit`, all. */
export function limitOf({ args }: CommandRun): number {
  const text = args.text("limit");
  return text === undefined ? Number.POSITIVE_INFINITY : count(text, "--limit", MAX_LIMIT);
}

/**
 * Reads a list page by page, until its end or until it has enough items.
 *
 * @param read requests a page. @returns its items and the token of the next page; empty: none.
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
