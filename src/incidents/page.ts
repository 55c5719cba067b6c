import { invalidPageToken } from "../messages/page.ts";

const TOKEN = /^(\d{1,15})-([\w-]{1,64})$/;

/** The place that a page token names; undefined: the beginning. @throws INVALID_ARGUMENT. */
export function placeOf(
  pageToken: string,
): { readonly time: number; readonly id: string } | undefined {
  if (pageToken === "") return undefined;
  const [, time, id] = TOKEN.exec(pageToken) ?? [];
  if (time !== undefined && id !== undefined) return { time: Number(time), id };
  throw invalidPageToken();
}

/** The token of the page that follows an entry. */
export function tokenOf(time: number, id: string): string {
  return `${time}-${id}`;
}
