import { checkLines, type Format, unixLines } from "./format.ts";

/**
 * Regular expressions in the syntax of .NET as the Go package dlclark/regexp2 reads it without
 * options, one per line. Servers compile the lines of hidden names with it; here they are only
 * parsed, never run.
 */
export const dotnetLines: Format = {
  check: (value) => checkLines(value, checkDotnet),
  normalize: unixLines,
  quotes: true,
};

/*
 * Parser of the .NET syntax. JavaScript's own parser differs: it lacks atomic and balancing groups,
 * conditions, inline options, comments, subtraction in brackets, \A, \z, \G and \p{L}, and it
 * accepts unknown escapes. One pass from left to right, no recursion; references are checked at the
 * end, when all groups are known (decision 0080).
 */

/** Maximum nesting of groups and of subtractions in brackets. */
const MAX_DEPTH = 1_000;
/** Largest number of a repetition or a group. */
const MAX_NUMBER = 0x7fff_ffff;

/** Character of a name: \w of .NET. */
const WORD = /[\p{L}\p{Mn}\p{Nd}\p{Pc}\u200c\u200d]/u;
const CATEGORIES = /^(?:C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;
/** Properties of Unicode that Go has, besides categories and scripts. */
const PROPERTIES = new Set(
  [
    "ASCII_Hex_Digit Bidi_Control Dash Deprecated Diacritic Extender Hex_Digit Hyphen",
    "IDS_Binary_Operator IDS_Trinary_Operator Ideographic Join_Control Logical_Order_Exception",
    "Noncharacter_Code_Point Other_Alphabetic Other_Default_Ignorable_Code_Point",
    "Other_Grapheme_Extend Other_ID_Continue Other_ID_Start Other_Lowercase Other_Math",
    "Other_Uppercase Pattern_Syntax Pattern_White_Space Prepended_Concatenation_Mark",
    "Quotation_Mark Radical Regional_Indicator STerm Sentence_Terminal Soft_Dotted",
    "Terminal_Punctuation Unified_Ideograph Variation_Selector White_Space",
  ].flatMap((names) => names.split(" ")),
);
const CONTROL_ESCAPES = new Map(
  [..."abefnrtv"].map((name, at) => [name, [7, 8, 27, 12, 10, 13, 9, 11][at]]),
);

class SyntaxProblem extends Error {}

/** Options of the expression at a position that change how it is read. */
interface Options {
  /** `x`: white space and comments after # are ignored. */
  readonly spaced: boolean;
  /** `n`: groups without a name do not capture. */
  readonly named: boolean;
}

/** An open group. */
interface Group {
  /** Options outside of it. */
  readonly outside: Options;
  /** Whether it is a condition `(?(…)yes|no)` with an expression, or with a reference. */
  readonly condition: "expression" | "reference" | undefined;
  /** Number of its alternatives. */
  alternatives: number;
  /** Whether the expression of its condition was read. */
  hasTest: boolean;
}

/**
 * Checks one expression.
 *
 * @returns a description of the problem; undefined when the servers compile it. Difference: names
 * of scripts are those of this JavaScript engine.
 */
export function checkDotnet(expression: string): string | undefined {
  try {
    createReader(expression).read();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxProblem) return error.message;
    throw error;
  }
}

function createReader(text: string) {
  let at = 0;
  let options: Options = { spaced: false, named: false };
  /** Whether an operand precedes this position, which a repetition can repeat. */
  let operand = false;
  /** Whether the next group is the test of a condition, which does not capture. */
  let isTest = false;
  const groups: Group[] = [];
  const names = new Set<string>();
  const numbers = new Set<number>([0]);
  let unnamed = 0;
  /** References to groups, checked at the end. */
  const references: ((slots: ReadonlySet<number>) => void)[] = [];

  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const [token] = pattern.exec(text) ?? [];
    at += token?.length ?? 0;
    return token;
  }

  function character(): string {
    const code = text.codePointAt(at) ?? fail("ends too early");
    const char = String.fromCodePoint(code);
    at += char.length;
    return char;
  }

  function number(digits: string): number {
    const value = Number(digits);
    return value <= MAX_NUMBER ? value : fail("has a number that is too large");
  }

  /**
   * Skips comments, and with the option x white space.
   *
   * @param isEnd whether a comment without its end is the end of the expression: the servers'
   *   reader accepts it after a literal character.
   */
  function blank(isEnd = false): void {
    for (;;) {
      if (options.spaced && take(/[\t-\r ]+|#[^\n]*/y) !== undefined) continue;
      if (!text.startsWith("(?#", at)) return;
      if (take(/[^)]*\)/y) !== undefined) continue;
      if (!isEnd) fail("has a comment (?# without its )");
      at = text.length;
    }
  }

  function open(condition?: Group["condition"], outside = options): void {
    groups.push({ outside, condition, alternatives: 1, hasTest: false });
    if (groups.length > MAX_DEPTH) fail(`has more than ${MAX_DEPTH} groups in one another`);
    operand = false;
  }

  function openGroup(): void {
    at += 1;
    const wasTest = isTest;
    isTest = false;
    // "(?)" is a group with the repetition ?, which has nothing to repeat.
    if (text[at] !== "?" || text[at + 1] === ")") {
      if (!options.named && !wasTest) unnamed += 1;
      open();
      return;
    }
    if (wasTest && /^\?(?:'|<(?![=!]))/.test(text.slice(at, at + 3)))
      fail("has a condition that is a named group");
    if (take(/\?(?:[:=!>]|<[=!])/y) !== undefined) open();
    else if (take(/\?</y) !== undefined) namedGroup(">");
    else if (take(/\?'/y) !== undefined) namedGroup("'");
    else if (text.startsWith("?(", at)) condition();
    else optionGroup();
  }

  /** `(?<name>`, `(?<name-other>` or `(?<-other>`. */
  function namedGroup(close: string): void {
    const digits = take(/\d+/y);
    const name = digits ?? word();
    if (digits !== undefined) {
      const slot = number(digits);
      if (slot === 0) fail("has a group with the number 0");
      // Groups whose number begins with 0 are references only.
      if (digits.startsWith("0")) refersToNumber(slot);
      else numbers.add(slot);
    } else if (name !== "") names.add(name);
    if (text[at] === "-") {
      at += 1;
      const other = take(/\d+/y);
      const otherName = other === undefined ? word() : "";
      if (other !== undefined) refersToNumber(number(other));
      else if (otherName !== "") refersToName(otherName);
      else fail(BAD_NAME);
    } else if (name === "") fail(BAD_NAME);
    if (text[at] !== close) fail(BAD_NAME);
    at += 1;
    open();
  }

  /** `(?(1)yes|no)`, `(?(name)yes|no)` or `(?(expression)yes|no)`. */
  function condition(): void {
    at += 1;
    const reference = /\((\d+)/y;
    reference.lastIndex = at;
    const [found, digits] = reference.exec(text) ?? [];
    if (found === undefined || digits === undefined) {
      if (text.startsWith("(?#", at)) fail("has a condition that is a comment");
      open("expression");
      isTest = true;
      return;
    }
    at += found.length;
    if (text[at] !== ")") fail("has a condition (?(1) without its )");
    at += 1;
    refersToNumber(number(digits));
    open("reference");
  }

  /** `(?i)`, which changes the options of the rest of the group, or `(?i:`. */
  function optionGroup(): void {
    at += 1;
    const outside = options;
    if (groups.at(-1)?.condition !== "expression") readOptions();
    if (take(/\)/y) !== undefined) operand = false;
    else if (take(/:/y) !== undefined) open(undefined, outside);
    else fail("has a group (?… of an unknown kind");
  }

  function readOptions(): void {
    let isOn = true;
    for (const letter of (take(/[imnsxdu+-]*/iy) ?? "").toLowerCase()) {
      if (letter === "+" || letter === "-") isOn = letter === "+";
      if (letter === "x") options = { ...options, spaced: isOn };
      if (letter === "n") options = { ...options, named: isOn };
    }
  }

  function closeGroup(): void {
    at += 1;
    const group = groups.pop() ?? fail("has a ) without its (");
    if (group.condition !== undefined && group.alternatives > 2)
      fail("has a condition with more than two alternatives");
    options = group.outside;
    const outer = groups.at(-1);
    const isConditionTest = outer?.condition === "expression" && !outer.hasTest;
    if (outer !== undefined && isConditionTest) outer.hasTest = true;
    operand = !isConditionTest;
  }

  function alternative(): void {
    at += 1;
    operand = false;
    const group = groups.at(-1);
    if (group !== undefined) group.alternatives += 1;
  }

  /** `*`, `+`, `?` and `{n,m}`; another `{` is literal. */
  function repeat(): boolean {
    const token = take(/[*+?]|\{\d+(?:,\d*)?\}/y);
    if (token === undefined) return false;
    if (!operand) fail("has a repetition with nothing before it to repeat");
    const [least = 0, most = least] = (token.match(/\d+/g) ?? []).map(number);
    if (least > most) fail("has a repetition {n,m} whose second number is the smaller one");
    blank();
    take(/\?/y);
    operand = false;
    return true;
  }

  function backslash(): void {
    at += 1;
    if (at === text.length) fail("ends with a single \\");
    operand = true;
    if (take(/[bBAGZzwWsSdD]/y) !== undefined) return;
    if (take(/[pP]/y) !== undefined) unicodeClass();
    else if (!reference()) characterEscape();
  }

  /** `\1`, `\k<name>`, `\k'name'`, `\<name>` or `\'name'`. @returns whether it is one. */
  function reference(): boolean {
    const digits = take(/[1-9]\d*/y);
    if (digits !== undefined) {
      const slot = number(digits);
      const isOctal = slot > 9 && /^[1-7]/.test(digits);
      if (!isOctal) refersToNumber(slot);
      return true;
    }
    const isNamed = text[at] === "k";
    const start = at;
    const quote = take(/k?[<']/y)?.slice(-1);
    if (quote === undefined) return isNamed ? fail(BAD_REFERENCE) : false;
    const close = quote === "<" ? ">" : "'";
    const slot = take(/\d+/y);
    const name = slot ?? word();
    if (name === "" || text[at] !== close) {
      if (isNamed) fail(BAD_REFERENCE);
      at = start;
      return false;
    }
    at += 1;
    if (slot === undefined) refersToName(name);
    else refersToNumber(number(slot));
    return true;
  }

  function refersToNumber(slot: number): void {
    references.push((slots) => {
      if (!slots.has(slot)) fail(`refers to the group ${slot}, which it does not have`);
    });
  }

  function refersToName(name: string): void {
    references.push((slots) => {
      const isKnown = names.has(name) || (/^\d+$/.test(name) && slots.has(Number(name)));
      if (!isKnown) fail("refers to a group by a name that it does not have");
    });
  }

  /** `\pL` or `\p{Greek}`, after the letter p. */
  function unicodeClass(): void {
    const name = take(/\{[^}]*\}/y)?.slice(1, -1) ?? character();
    if (!isUnicodeName(name)) fail("has a Unicode class \\p with an unknown name");
  }

  /** @returns the code of the character. */
  function characterEscape(): number {
    const octal = take(/[0-7]{1,3}/y);
    if (octal !== undefined) return Number.parseInt(octal, 8) & 0xff;
    const hex = take(/x\{[0-9A-Fa-f]+\}|x(?!\{)[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}/y);
    if (hex !== undefined) {
      const code = Number.parseInt(hex.replace(/[xu{}]/g, ""), 16);
      return code <= 0x10ffff ? code : fail("has an escape \\x{…} beyond the last character");
    }
    const control = take(/c[@-_a-z]/y);
    if (control !== undefined) return control.toUpperCase().charCodeAt(1) - 0x40;
    const char = character();
    if (WORD.test(char))
      return CONTROL_ESCAPES.get(char) ?? fail(`has an unknown escape \\${char}`);
    return char.codePointAt(0) ?? 0;
  }

  /** `[…]`, with subtractions such as `[a-z-[aeiou]]`. */
  function bracketClass(): void {
    let depth = 1;
    let low: number | undefined;
    let isFirst = true;
    const enter = (): void => {
      take(/\[\^?/y);
      low = undefined;
      isFirst = true;
    };
    enter();
    while (depth > 0) {
      if (at >= text.length) fail("has a [ without its ]");
      const wasFirst = isFirst;
      isFirst = false;
      if (text[at] === "]" && !wasFirst) {
        at += 1;
        depth -= 1;
        if (depth > 0 && at < text.length && text[at] !== "]")
          fail("has a subtraction -[…] that is not the last part of its brackets");
        low = undefined;
        continue;
      }
      if (take(/\\-/y) !== undefined) continue;
      if (characterClass()) {
        if (low !== undefined) fail("has a range in brackets that ends with a class");
        continue;
      }
      if (text[at] === "[" && low !== undefined && !wasFirst) {
        depth = deeper(depth);
        enter();
        continue;
      }
      const isMinus = text[at] === "-" && !wasFirst;
      if (text[at] === "[" && low === undefined) namedClass();
      const code = classCharacter();
      if (low !== undefined) {
        if (low > code) fail("has a range in brackets that runs backwards, such as [z-a]");
        low = undefined;
      } else if (at + 1 < text.length && take(/-(?!\])/y) !== undefined) low = code;
      else if (isMinus && text[at] === "[") {
        depth = deeper(depth);
        enter();
      }
    }
    operand = true;
  }

  function deeper(depth: number): number {
    return depth < MAX_DEPTH
      ? depth + 1
      : fail(`has more than ${MAX_DEPTH} subtractions in one another`);
  }

  /** Name of `[:name:]`, which .NET reads as an ordinary [ and a skipped text. */
  function namedClass(): void {
    const start = at;
    const skipped = /\[:\^?[\p{L}\p{Mn}\p{Nd}\p{Pc}\u200c\u200d]*:\]/uy;
    // The [ itself is read as the character of the class.
    if (take(skipped) !== undefined) skippedTo = at;
    at = start;
  }
  let skippedTo = 0;

  /** `\d` and its like and `\pL` in brackets. */
  function characterClass(): boolean {
    if (take(/\\[dDsSwW]/y) !== undefined) return true;
    if (take(/\\[pP]/y) === undefined) return false;
    unicodeClass();
    return true;
  }

  function classCharacter(): number {
    if (text[at] !== "\\" || at + 1 === text.length) {
      const char = character();
      at = Math.max(at, skippedTo);
      return char.codePointAt(0) ?? 0;
    }
    at += 1;
    return characterEscape();
  }

  function word(): string {
    return take(/[\p{L}\p{Mn}\p{Nd}\p{Pc}\u200c\u200d]+/uy) ?? "";
  }

  /** Numbers of all groups: those of named ones follow the others. */
  function slots(): ReadonlySet<number> {
    const all = new Set(numbers);
    for (let slot = 1; slot <= unnamed; slot += 1) all.add(slot);
    let next = unnamed + 1;
    for (const _name of names) {
      while (all.has(next)) next += 1;
      all.add(next);
    }
    return all;
  }

  const steps = new Map([
    ["(", openGroup],
    [")", closeGroup],
    ["|", alternative],
    ["[", bracketClass],
    ["\\", backslash],
  ]);

  function read(): void {
    blank();
    while (at < text.length) {
      const step = steps.get(text.charAt(at));
      const isLiteral = step === undefined && !repeat();
      if (isLiteral) {
        character();
        operand = true;
      } else step?.();
      blank(isLiteral && !/[.^$]/.test(text.charAt(at - 1)));
    }
    if (groups.length > 0) fail("has a ( without its )");
    const all = slots();
    for (const check of references) check(all);
  }

  return { read };
}

const BAD_NAME = "has a group whose name is not made of letters, digits and _";
const BAD_REFERENCE = "has a reference \\k that is not \\k<name>";

/** Reports whether a name is a general category, a script or a property of Unicode, as Go has them. */
function isUnicodeName(name: string): boolean {
  if (CATEGORIES.test(name) || PROPERTIES.has(name)) return true;
  // Scripts have their long names; a short name has four letters, as have a few long ones.
  if (!/^[A-Z][A-Za-z]*(?:_[A-Z][A-Za-z]*)*$/.test(name) || isShortName(name)) return false;
  try {
    new RegExp(`\\p{sc=${name}}`, "u");
    return true;
  } catch {
    return false;
  }
}

/** Long names of scripts with four letters. */
const LONG_NAMES = new Set([
  "Cham",
  "Thai",
  "Lisu",
  "Mro",
  "Nko",
  "Vai",
  "Yi",
  "Lao",
  "Ahom",
  "Toto",
]);

function isShortName(name: string): boolean {
  return name.length === 4 && !LONG_NAMES.has(name);
}

function fail(reason: string): never {
  throw new SyntaxProblem(reason);
}
