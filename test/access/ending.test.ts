import { expect, test } from "vitest";
import { endsSoon } from "../../src/access/ending.ts";
import type { StoredToken } from "../../src/access/store.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const token = (life: number | null, replacedBy: string | null = null): StoredToken => ({
  ...{ id: "0aB1cD2eF3gH", principalId: "p", hash: "", scopes: [], limits: [], comment: "" },
  ...{ createdAt: 0, createdBy: "admin", notAfter: null, revokedAt: null, revokedBy: null },
  expiresAt: life,
  replacedBy,
});

test.each<[string, StoredToken, number, boolean]>([
  ["90 days, 15 before its end", token(90 * DAY), 75 * DAY, false],
  ["90 days, 14 before its end", token(90 * DAY), 76 * DAY, true],
  ["a year, 15 days before its end", token(365 * DAY), 350 * DAY, false],
  ["10 days, 3 before its end", token(10 * DAY), 7 * DAY, false],
  ["10 days, 2 before its end", token(10 * DAY), 8 * DAY, true],
  ["an hour, half of it over", token(HOUR), HOUR / 2, false],
  ["90 days, with a successor", token(90 * DAY, "next"), 89 * DAY, false],
  ["for ever", token(null), 1_000 * DAY, false],
])("of %s", (_what, one, now, soon) => {
  expect(endsSoon(one, now)).toBe(soon);
});
