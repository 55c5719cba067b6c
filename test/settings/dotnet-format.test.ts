import { expect, test } from "vitest";
import { checkDotnet, dotnetLines } from "../../src/settings/format/dotnet.ts";
import { words } from "../words.ts";

// Results of github.com/dlclark/regexp2 v1.12.0 without options.
const COMPILED = [
  ...words(String.raw`
    a| (?i)thumbs\.db (?i:a)(?-i:b) (?=a)(?!b)(?<=c) (?>a+)b (?<year>\d{4})-\k<year>
    (?'q'a)\k'q' (?<a>x)(?<-a>y) (?<a>x)(?<b-a>y) (a)(?(1)b|c) (?(?=a)b|c) (?(name)b|c)
    [a-z-[aeiou]] []a] [^]a] [a-] [[:alpha:]] \A\G\Z\z\b\B \p{Lu}\pL\P{Greek}
    \x41\x{1F600}\u00e9\cA\e \12 \07 a{2,3}? a{,3} { (?#comment)a a]}
  `),
  "",
  "(?<!\\.)tmp$",
  "(?x) a # comment",
];
const REFUSED = [
  ...words(String.raw`
    ( ) [ [a * a** a{2,1} a{99999999999} \y \k \k<x> \1 (?<a (?<0>a) (?<1a>b) (?<-b>a) (?P<a>b)
    (?y) (?(1)a|b) (a)(?(1)b|c|d) (?(?#x)a) (?#x [z-a] [a-\d] [a-z-[b]c] \p{Letter} \p{Nope}
    \xg1 \x{110000} \u12 \c1 (?> (?i)*
  `),
  "\\",
];

test.each(COMPILED)("the servers' reader of .NET expressions compiles %j", (expression) => {
  expect(checkDotnet(expression)).toBeUndefined();
});

test.each(REFUSED)("the servers' reader of .NET expressions refuses %j", (expression) => {
  expect(String(checkDotnet(expression))).toMatch(/^(?:has|ends|refers)/);
});

test("a problem names its line, and each of several lines is checked", () => {
  expect(String(dotnetLines.check("ok\n(\n*"))).toContain("line 2");
  expect(String(dotnetLines.check("ok\n(\n*"))).toContain("line 3");
});

test.each([
  ["groups", "(".repeat(4_000)],
  ["subtractions", "[a-".repeat(1_300)],
  ["names", "(?<a>)".repeat(680)],
  ["references", `${"(a)".repeat(600)}${"\\9".repeat(1_000)}`],
])("thousands of %s end without a stack overflow", (_what, expression) => {
  expect(() => checkDotnet(expression)).not.toThrow();
});
