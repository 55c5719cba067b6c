import { invalid, type ServiceError } from "./error.ts";
import { message } from "./message.ts";

/** Bounds of the pages of a list. */
export interface PageBounds {
  /** Items of a page if the request has no page size. Default: 50. */
  readonly usual?: number;
  /** Default: 1,000. */
  readonly most?: number;
  /** Result of a larger number: `most` items (AIP-158), or INVALID_ARGUMENT. Default: most. */
  readonly beyond?: "most" | "invalid";
}

/** Number of items of a page. @throws INVALID_ARGUMENT for a negative number. */
export function pageLimit(
  value: number,
  { usual = 50, most = 1_000, beyond = "most" }: PageBounds = {},
): number {
  if (value < 0 || (beyond === "invalid" && value > most))
    throw invalid([
      {
        field: "page_size",
        description: message("PAGE_SIZE_INVALID", { field: "page_size", most, value }),
      },
    ]);
  return value === 0 ? usual : Math.min(value, most);
}

/** INVALID_ARGUMENT for an invalid page token. */
export function invalidPageToken(): ServiceError {
  return invalid([{ field: "page_token", description: message("PAGE_TOKEN_INVALID") }]);
}

/** Maximum and default number of items of a page: lists without pages had this limit. */
const MAX_PAGE = 10_000;

/** Bytes after which a page ends early. */
const PAGE_BYTES = 4 * 2 ** 20;

/** Requested page of a list. */
export interface PageRequest {
  /** 0 and values above 10,000 mean 10,000 (AIP-158). */
  readonly pageSize: number;
  /** The `next` of the page before; empty: the first page. */
  readonly pageToken: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** The `pageToken` of the next page; empty: this was the last one. */
  readonly next: string;
}

/** Position in the order of a list, which remains valid when an item is deleted. */
export interface Place<T> {
  /** Returns the position of an item as text. */
  of(item: T): string;
  /** Returns a predicate for the items after a position; undefined for an invalid position. */
  after(text: string): ((item: T) => boolean) | undefined;
  /** Approximate size of an item in a reply, in bytes. Default: 256. */
  sizeOf?(item: T): number;
}

/**
 * Page of the matching items of a sorted list.
 *
 * @param bounds of its page size. Default: 10,000 items, which is also the maximum.
 * @throws INVALID_ARGUMENT for a negative page size or an invalid page token.
 */
export function pageOf<T>(
  sorted: readonly T[],
  { pageSize, pageToken }: PageRequest,
  place: Place<T>,
  fits: (item: T) => boolean = () => true,
  bounds: PageBounds = { usual: MAX_PAGE, most: MAX_PAGE },
): Page<T> {
  const limit = pageLimit(pageSize, bounds);
  const items: T[] = [];
  let bytes = 0;
  for (let at = beginning(sorted, pageToken, place); at < sorted.length; at += 1) {
    const item = sorted[at] as T;
    if (!fits(item)) continue;
    const last = items.at(-1);
    if ((items.length === limit || bytes >= PAGE_BYTES) && last !== undefined)
      return { items, next: place.of(last) };
    items.push(item);
    bytes += place.sizeOf?.(item) ?? 256;
  }
  return { items, next: "" };
}

function beginning<T>(sorted: readonly T[], pageToken: string, place: Place<T>): number {
  if (pageToken === "") return 0;
  const isAfter = place.after(pageToken);
  if (isAfter === undefined) throw invalidPageToken();
  const at = sorted.findIndex(isAfter);
  return at < 0 ? sorted.length : at;
}

const TOKEN = /^(\d{1,15})-([\w-]{1,64})$/;

/** Position in a list of a page token; undefined: the beginning. @throws INVALID_ARGUMENT. */
export function placeOf(
  pageToken: string,
): { readonly time: number; readonly id: string } | undefined {
  if (pageToken === "") return undefined;
  const [, time, id] = TOKEN.exec(pageToken) ?? [];
  if (time !== undefined && id !== undefined) return { time: Number(time), id };
  throw invalidPageToken();
}

/** Token of the page after an entry. */
export function tokenOf(time: number, id: string): string {
  return `${time}-${id}`;
}
