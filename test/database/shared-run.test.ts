import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { oncePerTick } from "../../src/database/shared-run.ts";

describe("who asks in the same turn", () => {
  test("shares one look, and the next turn has its own", async () => {
    const look = vi.fn(() => look.mock.calls.length);
    const ask = oncePerTick(look);
    expect(await Promise.all([ask(), ask(), Promise.resolve().then(ask)])).toEqual([1, 1, 1]);
    await nextTurn();
    expect(await ask()).toBe(2);
  });

  test("sees what had happened when the last of them asked", async () => {
    let state = "before";
    const ask = oncePerTick(() => state);
    const first = ask();
    state = "between";
    expect(await Promise.all([first, ask()])).toEqual(["between", "between"]);
  });

  test("who asks while the look's answer is on its way has the next one", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const look = vi.fn<() => string | Promise<string>>(() => "later").mockReturnValueOnce(promise);
    const ask = oncePerTick(look);
    const first = ask();
    await nextTurn();
    const second = ask();
    resolve("early");
    expect(await Promise.all([first, second])).toEqual(["early", "later"]);
  });

  test("hears of a failure, each of them, and the next turn looks again", async () => {
    const look = vi
      .fn(() => "fine")
      .mockImplementationOnce(() => {
        throw new Error("no look");
      });
    const ask = oncePerTick(look);
    const both = await Promise.allSettled([ask(), ask()]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await ask()).toBe("fine");
  });
});
