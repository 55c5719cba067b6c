import { expect, test } from "vitest";
import { Buffered } from "../../src/transport/body.ts";

test("one principal holds at most three quarters, from however many addresses, and others the rest", () => {
  const budget = new Buffered(1_000);
  for (const peer of ["a", "b", "c", "d"])
    expect(budget.reserve(peer, 250, "greedy")).toBe(peer !== "d");
  expect(budget.reserve("e", 100, "other")).toBe(true);
  expect(budget.reserve("e", 200, "other")).toBe(false);
  expect(budget.reserve("f", 30, "third")).toBe(true);
  // Only the one that is over its share is refused.
  expect(budget.reserve("g", 1, "greedy")).toBe(false);
  budget.release("a", 250, "greedy");
  budget.release("b", 250, "greedy");
  expect(budget.reserve("e", 200, "other")).toBe(true);
  for (const [peer, bytes, principal] of [
    ["c", 250, "greedy"],
    ["e", 300, "other"],
    ["f", 30, "third"],
  ] as const)
    budget.release(peer, bytes, principal);
  expect(budget.bytes).toBe(0);
});

test("one address holds at most half, whoever its callers are", () => {
  const budget = new Buffered(1_000);
  expect(budget.reserve("a", 300, "one")).toBe(true);
  expect(budget.reserve("a", 200, "two")).toBe(true);
  expect(budget.reserve("a", 1, "three")).toBe(false);
  expect(budget.reserve("b", 100, "three")).toBe(true);
});

test("large bodies of principals take turns, one at a time", async () => {
  const budget = new Buffered(1_000);
  const order: string[] = [];
  let running = 0;
  const work = (name: string) => async (): Promise<string> => {
    running += 1;
    expect(running).toBe(1);
    await new Promise(setImmediate);
    running -= 1;
    order.push(name);
    return name;
  };
  const all = [
    ...["a1", "a2", "a3"].map((name) => budget.inTurn(work(name), "a")),
    ...["b1", "b2"].map((name) => budget.inTurn(work(name), "b")),
    budget.inTurn(work("c1"), "c"),
  ];
  const failed = budget.inTurn(() => {
    throw new Error("no");
  }, "d");
  await expect(failed).rejects.toThrow("no");
  expect(await Promise.all(all)).toEqual(["a1", "a2", "a3", "b1", "b2", "c1"]);
  expect(order).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  expect(await budget.inTurn(work("later"), "a")).toBe("later");
});
