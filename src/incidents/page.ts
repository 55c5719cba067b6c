import { invalidPageToken } from "../messages/page.ts";

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
