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

  test.each<[string, boolean]>([
    ["x".repeat(31), false],
    ["x".repeat(32), true],
    ["!~".repeat(256), true],
    ["x".repeat(513), false],
    [`${"x".repeat(40)}\n`, false],
    ["", false],
    ["é".repeat(40), false],
  ])("is validated: %.45j", (token, right) => {
    expect(checkToken(token) === undefined).toBe(right);
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
