import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";

const MAX_PAGE = 1_000;
const DEFAULT_PAGE = 50;
const TOKEN = /^(\d{1,15})-([\w-]{1,64})$/;

/** The number of entries of a page. @throws INVALID_ARGUMENT. */
export function limitOf(pageSize: number): number {
  if (pageSize >= 0 && pageSize <= MAX_PAGE) return pageSize || DEFAULT_PAGE;
  throw invalid([
    {
      field: "page_size",
      description: message("PAGE_SIZE_INVALID", {
        field: "page_size",
        most: MAX_PAGE,
        value: pageSize,
      }),
    },
  ]);
}

/** The place that a page token names; undefined: the beginning. @throws INVALID_ARGUMENT. */
export function placeOf(
  pageToken: string,
): { readonly time: number; readonly id: string } | undefined {
  if (pageToken === "") return undefined;
  const [, time, id] = TOKEN.exec(pageToken) ?? [];
  if (time !== undefined && id !== undefined) return { time: Number(time), id };
  throw invalid([{ field: "page_token", description: message("PAGE_TOKEN_INVALID") }]);
}

/** The token of the page that follows an entry. */
export function tokenOf(time: number, id: string): string {
  return `${time}-${id}`;
}
