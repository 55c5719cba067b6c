import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { type Place, pageOf, placeOf, tokenOf } from "../../src/messages/page.ts";
import { failureOf } from "../thrown.ts";

const place: Place<number> = {
  of: String,
  after: (text) => (/^\d+$/.test(text) ? (item) => item > Number(text) : undefined),
};
const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
const page = (pageSize: number, pageToken = "") =>
  pageOf(numbers(5), { pageSize, pageToken }, place);

describe("a page", () => {
  test("has the requested number of items and the token of the next page", () => {
    expect(page(2)).toEqual({ items: [1, 2], next: "2" });
    expect(page(2, "2")).toEqual({ items: [3, 4], next: "4" });
    expect(page(2, "4")).toEqual({ items: [5], next: "" });
    expect(page(2, "0")).toEqual({ items: [1, 2], next: "2" });
    expect(page(5)).toEqual({ items: [1, 2, 3, 4, 5], next: "" });
  });

  test("has all items without a page size, and 10,000 at most", () => {
    expect(page(0)).toEqual({ items: [1, 2, 3, 4, 5], next: "" });
    const many = pageOf(numbers(10_001), { pageSize: 20_000, pageToken: "" }, place);
    expect([many.items.length, many.next]).toEqual([10_000, "10000"]);
  });

  test("continues after a deleted item, and is empty after the last one", () => {
    const rest = pageOf([1, 4], { pageSize: 0, pageToken: "2" }, place);
    expect(rest).toEqual({ items: [4], next: "" });
    expect(page(2, "9")).toEqual({ items: [], next: "" });
  });

  test("counts matching items only, and has no next page without matching items", () => {
    const isOdd = (item: number): boolean => item % 2 === 1;
    const first = pageOf(numbers(6), { pageSize: 3, pageToken: "" }, place, isOdd);
    expect(first).toEqual({ items: [1, 3, 5], next: "" });
  });

  test("is limited to 4 MiB, and has at least one item", () => {
    const sized = (bytes: number) => {
      const large = { ...place, sizeOf: () => bytes };
      return pageOf(numbers(5), { pageSize: 0, pageToken: "" }, large).items.length;
    };
    expect([2 ** 20, 2 ** 21, 2 ** 22, 2 ** 23].map(sized)).toEqual([4, 2, 1, 1]);
    expect(sized(2 ** 20 + 1)).toBe(4);
    // Items without a size count as 256 bytes.
    const next = pageOf(numbers(20_000), { pageSize: 0, pageToken: "" }, place).next;
    expect(next).toBe("10000");
  });

  test("with a negative size or an invalid page_token is refused", async () => {
    for (const wrong of [() => page(-1), () => page(1, "x")])
      expect((await failureOf(wrong)).code).toBe(Code.InvalidArgument);
  });
});

describe("a token of a time and an id", () => {
  test("is read as it was made, and an empty one is the beginning", () => {
    expect(tokenOf(1_700_000_000_000, "a-b_C")).toBe("1700000000000-a-b_C");
    expect(placeOf("1700000000000-a-b_C")).toEqual({ time: 1_700_000_000_000, id: "a-b_C" });
    expect(placeOf("")).toBeUndefined();
  });

  test.each(["1700000000000", "x-a", "1-", "-a", "1-a b", "1234567890123456-a"])(
    "%s is refused",
    async (token) => {
      const refused = await failureOf(async () => placeOf(token));
      expect(refused).toMatchObject({ code: Code.InvalidArgument });
    },
  );
});
