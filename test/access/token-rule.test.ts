import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createGrant, ROOT } from "../../src/access/grant.ts";
import {
  checkComment,
  checkCount,
  checkEnd,
  checkRights,
  endOf,
  overlapOf,
} from "../../src/access/token-rule.ts";
import { failureOf } from "../backup/setting.ts";

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 0, 1);
const code = async (work: () => unknown): Promise<Code> => (await failureOf(work)).code;

describe("the end of a token", () => {
  const end = (expiresAt: number | undefined, neverExpires = false) =>
    endOf({ expiresAt, neverExpires }, NOW);

  test("is in 90 days, at the time that is asked for, or never", () => {
    expect([end(undefined), end(NOW + 1), end(undefined, true)]).toEqual([
      ...[NOW + 90 * DAY, NOW + 1, null],
    ]);
  });

  test("is neither now nor before, nor both a time and never", async () => {
    for (const wrong of [NOW, NOW - 1]) {
      expect(await code(() => end(wrong))).toBe(Code.InvalidArgument);
      expect((await failureOf(() => checkEnd(wrong, NOW))).message).toContain("2026-01-01");
    }
    checkEnd(NOW + 1, NOW);
    expect(await code(() => end(NOW + 1, true))).toBe(Code.InvalidArgument);
  });
});

test("a replaced token holds for a day, or for up to 30 days", async () => {
  expect([undefined, 0, 7, 30 * DAY].map(overlapOf)).toEqual([DAY, 0, 7, 30 * DAY]);
  for (const wrong of [-1, 30 * DAY + 1, Number.NaN])
    expect(await code(() => overlapOf(wrong))).toBe(Code.InvalidArgument);
});

test("a comment has 200 characters at most", async () => {
  checkComment("a".repeat(200));
  expect(await code(() => checkComment("a".repeat(201)))).toBe(Code.InvalidArgument);
});

test("there are 100,000 tokens at most", async () => {
  const holding = (count: number) => checkCount({ tokenCount: async () => count } as never);
  await holding(99_999);
  for (const count of [100_000, 100_001])
    expect(await code(() => holding(count))).toBe(Code.ResourceExhausted);
});

describe("the rights of a new token", () => {
  const holder = createGrant(["settings:read", "tokens:manage"], []);

  test("are among those of the caller", () => {
    checkRights(["settings:read"], [], holder);
    checkRights(["settings:read"], ["key:a"], holder);
    checkRights(["settings:write"], [], ROOT);
  });

  test("that the caller has not are named", async () => {
    const failure = await failureOf(() =>
      checkRights(["settings:read", "history:read", "backup:export"], [], holder),
    );
    expect(failure.code).toBe(Code.PermissionDenied);
    expect(failure.message).toMatch(/backup:export, history:read|history:read, backup:export/);
    expect(failure.message).not.toContain("settings:read");
  });

  test("that are none are refused", async () => {
    for (const [scopes, limits] of [
      [["settings:paint"], []],
      [["settings:read"], ["colour:red"]],
    ] as const)
      expect(await code(() => checkRights(scopes, limits, ROOT))).toBe(Code.InvalidArgument);
  });
});
