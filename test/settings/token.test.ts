import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  checkToken,
  createTokenComparison,
  generateToken,
  tokenEquals,
} from "../../src/settings/token.ts";

describe("a token", () => {
  test("that the program creates has 256 random bits and is valid", () => {
    const sizes: number[] = [];
    const token = generateToken((size) => {
      sizes.push(size);
      return randomBytes(size);
    });
    expect(sizes).toEqual([32]);
    expect(token).toMatch(/^mooring-[\w-]{43}$/);
    expect(checkToken(token)).toBeUndefined();
    expect(generateToken(randomBytes)).not.toBe(token);
  });

  test.each(["x".repeat(32), "!~".repeat(256)])("may be %.45j", (token) => {
    expect(checkToken(token)).toBeUndefined();
  });

  test.each([
    ["", /at least 32 characters \(this one has 0\)/],
    ["x".repeat(31), /at least 32 characters \(this one has 31\)/],
    ["x".repeat(513), /at most 512 characters/],
    [`${"x".repeat(40)}\n`, /visible ASCII/],
    [`${"x".repeat(40)} `, /visible ASCII/],
    ["é".repeat(40), /visible ASCII/],
  ])("is refused as %.45j, and the reason does not quote it", (token, reason) => {
    expect(checkToken(token)).toMatch(reason);
    if (token !== "") expect(checkToken(token)).not.toContain(token.trim());
  });

  test.each([
    ["at once", tokenEquals],
    ["with kept bytes", createTokenComparison()],
  ])("equals itself only; an empty one equals nothing: %s", (_name, equals) => {
    expect(equals("abc", "abc")).toBe(true);
    for (const [stored, sent] of [
      ...([
        ["abc", "abd"],
        ["abc", "ab"],
        ["abc", ""],
        ["", ""],
        ["", "abc"],
        ["é", "e"],
      ] as const),
    ])
      expect(equals(stored, sent)).toBe(false);
    expect(equals("abd", "abd")).toBe(true);
  });
});
