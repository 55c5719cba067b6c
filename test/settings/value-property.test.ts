import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { customDefinition } from "../../src/settings/custom.ts";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";
import { checkRe2 } from "../../src/settings/format/re2.ts";
import { type FormatName, formatOf, formats } from "../../src/settings/format/registry.ts";
import { checkValue, normalizeStoredValue, normalizeValue } from "../../src/settings/value.ts";
import { anyText } from "../any-text.ts";

const definitions = [
  ...loadSettingDefinitions(),
  ...["string", "text", "number", "bool", "select", "unknown"].map((type) =>
    customDefinition({ key: "k", type, options: "a,b", group: 0, flag: 1, help: "" }),
  ),
];
const anyDefinition = fc.constantFrom(...definitions);
const formatNames = Object.keys(formats) as FormatName[];

/** Any text: lone surrogates, control characters, JSON, and pieces with a meaning in grammars. */
const hostileText = fc.oneof(
  anyText({ maxLength: 200 }),
  fc.string({ unit: fc.constantFrom("\ud800", "\udc00", "\0", "a", "é") }),
  fc.json({ maxDepth: 6 }),
  fc
    .array(
      fc.constantFrom(
        ..."( ) [ ] { } * + ? | \\ / ^ $ , : - . 1 a é \n \r".split(" "),
        "(?i)",
        "(?P<n>",
        "(?=",
        "{2,3}",
        "[[:alpha:]]",
        "\\p{L}",
        "\\Q",
        "\\x{41}",
        '{"a":',
        "http://",
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join("")),
);

describe("the validation of a value", () => {
  it("never throws, for any text", () => {
    fc.assert(
      fc.property(anyDefinition, hostileText, (definition, text) => {
        const problem = checkValue(definition, text)?.toString();
        expect(problem === undefined || problem.length > 0).toBe(true);
        // A message is for a line of a page or a log, not a copy of the value.
        expect((problem ?? "").length).toBeLessThan(1_500);
      }),
      { numRuns: 5_000 },
    );
  });

  it("never throws in any format, for any text", () => {
    fc.assert(
      fc.property(fc.constantFrom(...formatNames), hostileText, (name, text) => {
        formatOf(name).check(text);
        formatOf(name).normalize?.(text);
      }),
      { numRuns: 5_000 },
    );
  });

  it("quotes no secret", () => {
    const secrets = definitions.filter(({ secret }) => secret);
    fc.assert(
      fc.property(
        fc.constantFrom(...secrets),
        fc.string({ unit: "grapheme-ascii", minLength: 8, maxLength: 40 }),
        fc.constantFrom("", "http://", "http://user:", "ftp://", "http://host:99999/"),
        (definition, password, prefix) => {
          const problem = checkValue(definition, prefix + password);
          expect(problem ?? "").not.toContain(password);
        },
      ),
    );
  });

  it("is idempotent in normalization", () => {
    fc.assert(
      fc.property(anyDefinition, hostileText, (definition, text) => {
        const once = normalizeValue(definition, text);
        expect(normalizeValue(definition, once)).toBe(once);
        const stored = normalizeStoredValue(definition, text);
        expect(normalizeStoredValue(definition, stored)).toBe(stored);
      }),
      { numRuns: 3_000 },
    );
    for (const definition of definitions) {
      const once = normalizeValue(definition, "/a\r\r\n/b");
      expect(normalizeValue(definition, once), definition.key).toBe(once);
    }
  });

  it("handles the longest values of every shape that is costly to parse", () => {
    const size = 65_536;
    const shapes = [
      ...'([{*\\/,:-\n" a1.'.split(""),
      "(a+)+",
      "/(a*)*$/\n",
      "a{1000}",
      "[[:",
      "\\p{L}",
      "(?i:",
      "/[\\p{L}\\p{Lu}]/iu\n",
      '{"a":',
      "[1,",
      "/a/i\n",
      "1-2:",
      "%s(",
      "http://",
      "data:",
    ].map((piece) => piece.repeat(Math.floor(size / piece.length)));
    for (const text of [...shapes, ...shapes.map((shape) => `/${shape.slice(0, -9)}/i`)])
      for (const name of formatNames) {
        formatOf(name).check(text);
        formatOf(name).normalize?.(text);
      }
  });
});

describe("RE2 expressions", () => {
  it("are accepted when they consist of escaped text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const escaped = text.replace(/[\\.*+?^${}()|[\]]/g, "\\$&");
        expect(checkRe2(escaped)).toBeUndefined();
      }),
    );
  });

  it("are accepted by JavaScript too if both have the same syntax", () => {
    const piece = fc.constantFrom("a", "(a|b)", "(?:ab)", "[a-z]", "[^0-9]", "\\d", ".", "x{2,3}");
    const many = fc.array(fc.tuple(piece, fc.constantFrom("", "|", "\\b", "$")), { maxLength: 20 });
    fc.assert(
      fc.property(many, (parts) => {
        const expression = parts.flat().join("");
        expect(checkRe2(expression)).toBeUndefined();
        expect(() => new RegExp(expression, "u")).not.toThrow();
      }),
    );
  });
});
