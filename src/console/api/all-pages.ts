/**
 * Reads a list to its end: the service ends pages by number and by size.
 *
 * @param read requests a page. @returns its items and the token of the next page; empty: none.
 */
export async function allPages<T>(
  read: (pageToken: string) => Promise<readonly [items: readonly T[], next: string]>,
): Promise<T[]> {
  const all: T[] = [];
  let next = "";
  do {
    const [items, after] = await read(next);
    for (const item of items) all.push(item);
    next = after;
  } while (next !== "");
  return all;
}
