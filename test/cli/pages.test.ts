import { expect, test } from "vitest";
import { readPages } from "../../src/cli/pages.ts";

const all = Array.from({ length: 2_345 }, (_, at) => at);

/** Reads from a list of this length, like a service with at most 1,000 items a page. */
async function readOf(limit: number) {
  const pageSizes: number[] = [];
  const result = await readPages(limit, async ({ pageSize, pageToken }) => {
    pageSizes.push(pageSize);
    const from = Number(pageToken);
    const to = Math.min(from + pageSize, all.length);
    return { items: all.slice(from, to), next: to < all.length ? String(to) : "" };
  });
  return { ...result, pageSizes };
}

test("a list is read to its end, page by page", async () => {
  expect(await readOf(Number.POSITIVE_INFINITY)).toEqual({
    items: all,
    next: "",
    pageSizes: [1_000, 1_000, 1_000],
  });
});

test("no more is read than requested, and the next page token is known", async () => {
  expect(await readOf(1_500)).toEqual({
    items: all.slice(0, 1_500),
    next: "1500",
    pageSizes: [1_000, 500],
  });
  expect(await readOf(3)).toEqual({ items: [0, 1, 2], next: "3", pageSizes: [3] });
});
