import { describe, expect, test, vi } from "vitest";
import {
  type ExpiringToken,
  expiresSoon,
  expiringTokens,
  startExpiryNotice,
} from "../../src/access/expiry.ts";
import type { StoredToken } from "../../src/access/store.ts";
import { sampleToken } from "./sample.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const token = (expiresAt: number | null, replacedBy: string | null = null) =>
  sampleToken({ expiresAt, replacedBy });

const later = { ...token(110 * DAY), createdAt: 100 * DAY };

test.each<[string, StoredToken, number, boolean]>([
  ["90 days, 15 before its end", token(90 * DAY), 75 * DAY, false],
  ["90 days, 14 before its end", token(90 * DAY), 76 * DAY, true],
  ["a year, 15 days before its end", token(365 * DAY), 350 * DAY, false],
  ["10 days, 3 before its end", token(10 * DAY), 7 * DAY, false],
  ["10 days, 2 before its end", token(10 * DAY), 8 * DAY, true],
  ["an hour, half of it over", token(HOUR), HOUR / 2, false],
  ["90 days, with a successor", token(90 * DAY, "next"), 89 * DAY, false],
  ["without an end", token(null), 1_000 * DAY, false],
  ["10 days from day 100 on, 3 before its end", later, 107 * DAY, false],
])("a token counts as expiring soon, or not: %s", (_what, one, now, soon) => {
  expect(expiresSoon(one, now)).toBe(soon);
});

test("valid tokens that expire soon are listed by their end, with their principals", () => {
  const tokens = [
    { ...token(3 * DAY), id: "third" },
    { ...token(1_000 * DAY), id: "later" },
    { ...token(DAY), id: "first", principalId: "gone" },
    { ...token(2 * DAY), id: "revoked" },
    { ...token(2 * DAY), id: "second" },
  ];
  const registry = {
    tokens: () => tokens,
    isActive: ({ id }: StoredToken) => id !== "revoked",
    principalOf: ({ principalId }: Pick<StoredToken, "principalId">) =>
      principalId === "p" ? ({ name: "ann" } as never) : undefined,
    now: () => 2.9 * DAY,
  };
  expect(expiringTokens(registry)).toEqual([
    { principal: "", tokenId: "first", until: DAY },
    { principal: "ann", tokenId: "second", until: 2 * DAY },
    { principal: "ann", tokenId: "third", until: 3 * DAY },
  ]);
});

describe("the notice of tokens that expire soon", () => {
  const noticed = async (count: number, isClaimed: boolean) => {
    const expiring = Array.from({ length: count }, (_, at): ExpiringToken => {
      return { principal: "ann", tokenId: `${at}`, until: at };
    });
    const tryAcquireJobSlot = vi.fn(async () => isClaimed);
    const notice = vi.fn();
    const stop = startExpiryNotice({
      store: { tryAcquireJobSlot } as never,
      expiring: () => expiring,
      now: () => 7,
      notice,
      onError: (error) => expect.unreachable(String(error)),
    });
    await stop();
    return { tryAcquireJobSlot, calls: notice.mock.calls, expiring };
  };

  test("is logged at once, by one process a day, with at most twenty tokens", async () => {
    const { calls, tryAcquireJobSlot, expiring } = await noticed(21, true);
    expect(calls).toEqual([[expiring.slice(0, 20), 21]]);
    expect(tryAcquireJobSlot.mock.calls).toEqual([["tokens that expire soon", DAY, 7]]);
  });

  test("is not logged when another process has the job slot or no token ends", async () => {
    expect((await noticed(1, false)).calls).toEqual([]);
    const { calls, tryAcquireJobSlot } = await noticed(0, true);
    expect([calls, tryAcquireJobSlot.mock.calls]).toEqual([[], []]);
  });
});
