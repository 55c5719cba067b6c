import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  cutToWidth,
  displayWidth,
  printableJson,
  printableLine,
  printableText,
  renderTable,
} from "../../src/cli/output.ts";
import { anyText } from "../any-text.ts";

describe("the width of a line", () => {
  test.each([
    ["", 0],
    ["plain", 5],
    ["é", 1],
    ["e\u0301", 1],
    ["文件", 4],
    ["한국", 4],
    ["ｆｕｌｌ", 8],
    ["🏠", 2],
    ["👨‍👩‍👧", 2],
    ["❤️", 2],
    ["ｶﾞｷﾞ", 4],
    ["☰ menu", 7],
    ["a\u200bb", 2],
  ])("of %j is %i columns", (line, width) => {
    expect(displayWidth(line)).toBe(width);
  });

  test("does not exceed the maximum of a cut line", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 1, max: 40 }),
        (line, columns) => {
          const cut = cutToWidth(line, columns);
          expect(displayWidth(cut)).toBeLessThanOrEqual(columns);
          if (displayWidth(line) <= columns) expect(cut).toBe(line);
        },
      ),
    );
  });

  test("of a long line is computed from its beginning only", () => {
    expect(cutToWidth("字".repeat(10_000_000), 11)).toBe("字字字字字…");
  });
});

describe("a table", () => {
  const columns = [
    { title: "KEY" },
    { title: "OLD", flexible: true },
    { title: "NEW", flexible: true },
  ] as const;
  const render = (rows: string[][], width: number) =>
    renderTable(columns, rows, { width, head: (line) => line }).split("\n");

  test("is aligned by display width", () => {
    expect(
      render(
        [
          ["a", "文件", "x"],
          ["bcd", "e", "y"],
        ],
        80,
      ),
    ).toEqual(["KEY  OLD   NEW", "a    文件  x", "bcd  e     y", ""]);
  });

  test("cuts only columns that are too wide, and no line exceeds the terminal", () => {
    const lines = render(
      [
        ["key", "short", "x".repeat(200)],
        ["k", "y".repeat(200), "z"],
      ],
      40,
    );
    expect(lines[1]).toMatch(/^key +short +x+…$/);
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(40);
    const [, line] = render([["key", "short", "x".repeat(200)]], 40);
    expect(line).toBe(`key  short  ${"x".repeat(27)}…`);
  });

  test("is not cut without a terminal, and a long value widens no column", () => {
    const long = "x".repeat(1_000);
    const lines = render(
      [
        ["a", long, "z"],
        ["b", "short", "z"],
      ],
      Number.POSITIVE_INFINITY,
    );
    expect(lines[1]).toBe(`a    ${long}  z`);
    expect(lines[2]).toBe(`b    ${"short".padEnd(48)}  z`);
  });

  test("keeps each row on one line, for any value", () => {
    const hostile = "a\nb\r\u001b[31m\u202e\u2028";
    expect(render([["k", hostile, ""]], 80)[1]).toBe("k    a\\nb\\r\\u001b[31m\\u202e\\u2028");
  });
});

describe("a text for a terminal", () => {
  test("has no control character and keeps all others", () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(printableLine(text)).not.toMatch(/[\p{Cc}\u202a-\u202e]/u);
        expect(printableText(text).replaceAll(/[\n\t]/g, "")).not.toMatch(/\p{Cc}/u);
      }),
    );
    expect(printableText("a\tb\nc\\d 文件 👨‍👩‍👧")).toBe("a\tb\nc\\d 文件 👨‍👩‍👧");
  });

  test("that is JSON stays the same JSON", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const text = JSON.stringify(JSON.parse(json), undefined, 2);
        expect(JSON.parse(printableJson(text))).toEqual(JSON.parse(json));
      }),
    );
    expect(printableJson('"\u009b31m"')).toBe('"\\u009b31m"');
  });
});
