import { message } from "../messages/message.ts";
import type { SiteClient } from "./client.ts";
import { SiteFailure } from "./failure.ts";

/** Rows of a page: one reply stays far below the limit of replies. */
const PAGE = 500;
/** Maximum number of characters of all rows as JSON: a page may have 8 MiB, and there may be twenty. */
const MAX_LENGTH = 16 * 2 ** 20;

/** Rows of one of a server's lists. */
export interface PagedList<T> {
  readonly isRow: (value: unknown) => value is T;
  readonly idOf: (row: T) => number | string;
  /** Maximum number of rows: a longer list is refused as a whole. */
  readonly most: number;
}

/**
 * Reads all pages of a list of a server, each row once: rows move between pages when the list
 * changes meanwhile.
 *
 * @throws SiteFailure; `too_large` for a longer list.
 */
export async function readPages<T>(
  { call }: Pick<SiteClient, "call">,
  path: string,
  { isRow, idOf, most }: PagedList<T>,
): Promise<T[]> {
  const rows = new Map<number | string, T>();
  let length = 0;
  const list = path.replace(/^\/api\//, "");
  for (let page = 1; ; page += 1) {
    const data = await call("GET", `${path}?page=${page}&per_page=${PAGE}`);
    const { content, total } = pageOf(data);
    if (!Array.isArray(content) || !content.every(isRow) || !Number.isSafeInteger(total))
      throw new SiteFailure("foreign", message("LIST_INVALID", { list }));
    const before = rows.size;
    for (const row of content) {
      rows.set(idOf(row), row);
      length += JSON.stringify(row).length;
    }
    if (length > MAX_LENGTH)
      throw new SiteFailure(
        "too_large",
        message("LIST_TOO_LARGE", { list, most: `${MAX_LENGTH / 2 ** 20} MiB` }),
      );
    const count = Math.max(rows.size, Number(total));
    if (count > most)
      throw new SiteFailure("too_large", message("LIST_TOO_LONG", { list, count, most }));
    // A server without pages repeats its whole list.
    if (rows.size === before || rows.size >= Number(total)) return [...rows.values()];
  }
}

/** An empty list may be null. */
function pageOf(data: unknown): { readonly content: unknown; readonly total: unknown } {
  const { content, total } = (data ?? {}) as {
    readonly content?: unknown;
    readonly total?: unknown;
  };
  return { content: content === null ? [] : content, total };
}
