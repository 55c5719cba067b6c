import { Code } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { createChange } from "../../src/access/change.ts";
import { StoreError } from "../../src/database/error.ts";
import { refusalOf } from "./opened.ts";

/** A change over a store with these versions, and the order of the store's calls. */
function changing(written: number, known: number, failure: Record<string, unknown> = {}) {
  const order: string[] = [];
  const step = (name: string) => async () => {
    order.push(name);
    if (name in failure) throw failure[name];
  };
  const write = vi.fn(async () => written);
  const seenEverywhere = vi.fn(step("seen"));
  const change = createChange({
    store: {
      seenEverywhere,
      transact: async (work) => {
        await step("transact")();
        return work({ write } as never);
      },
    },
    registry: { reread: step("reread"), version: () => known },
    changed: step("changed"),
  });
  return { change, order, seenEverywhere };
}

test.each([
  [5, 4, 5],
  [5, 6, 6],
])(
  "a change resolves when the later one of the versions %d and %d is visible to all processes",
  async (own, known, seen) => {
    const { change, order, seenEverywhere } = changing(own, known);
    const result = await change(async (transaction) => transaction.write({ audit: [] }));
    expect(result).toBe(own);
    expect(order).toEqual(["transact", "reread", "changed", "seen"]);
    expect(seenEverywhere).toHaveBeenCalledWith(seen);
  },
);

test("a failed write and an unconfirmed version have different errors", async () => {
  const away = new StoreError("busy", "away");
  const work = async () => 1;
  const refused = (failure: Record<string, unknown>) =>
    refusalOf(changing(1, 1, failure).change(work));
  const code = Code.Unavailable;
  expect(await refused({ transact: away })).toMatchObject({ code, id: "SAVE_FAILED" });
  expect(await refused({ seen: away })).toMatchObject({ code, id: "OLD_TOKEN_MAY_HOLD" });
});
