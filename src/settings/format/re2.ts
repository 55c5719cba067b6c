import { checkLines, type Format, unixLines } from "./format.ts";

/**
 * Regular expressions in the RE2 syntax of Go, one per line; an empty line is an empty expression
 * without effect. Servers in Go compile them; here they are only parsed, never run.
 */
export const re2Lines: Format = {
  check: (value) => checkLines(value, checkRe2),
  normalize: unixLines,
  quotes: true,
};

/*
 * Parser of the RE2 syntax of Go's package regexp (https://golang.org/s/re2syntax). JavaScript's
 * own parser differs: it lacks (?U), \A, \z, \Q...\E and [[:alpha:]], and accepts back-references
 * and look-around, which RE2 rejects. One pass from left to right, no recursion (decision 0073).
 */

/** Maximum count of a repetition, and of the copies of nested repetitions. */
const MAX_REPEAT = 1_000;
/** Maximum nesting of groups. */
const MAX_DEPTH = 1_000;

const POSIX_CLASSES =
  /^\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit)$/;

const CONTROL_ESCAPES = new Map(
  [..."afnrtv"].map((name, at) => [name, [7, 12, 10, 13, 9, 11][at]]),
);

class SyntaxProblem extends Error {}

/** An open group, or the whole expression. */
interface Group {
  /** Whether an operand precedes this position. */
  operand: boolean;
  /** Whether a repetition directly precedes this position. */
  repeated: boolean;
  /** Number of copies of the operand by repetitions, and the maximum of all operands. */
  copies: number;
  mostCopies: number;
}

/**
 * Checks one expression.
 *
 * @returns a description of the problem; undefined when Go would compile it. Differences: names of
 * Unicode classes are those of this JavaScript ledger, and an expression whose compiled form is too
 * large for Go (128 MiB) is accepted.
 */
export function checkRe2(expression: string): string | undefined {
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
  let group: Group = newGroup();
  const outer: Group[] = [];
  const knownNames = new Set<string>();

  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const [token] = pattern.exec(text) ?? [];
    at += token?.length ?? 0;
    return token;
  }

  /** Records an operand at this position. */
  function operand(copies = 1): void {
    const mostCopies = Math.max(group.mostCopies, copies);
    group = { operand: true, repeated: false, copies, mostCopies };
  }

  function character(): number {
    const code = text.codePointAt(at) ?? fail("ends too early");
    at += code > 0xffff ? 2 : 1;
    return code;
  }

  function open(): void {
    outer.push(group);
    group = newGroup();
    if (outer.length > MAX_DEPTH) fail(`has more than ${MAX_DEPTH} groups in one another`);
  }

  function openGroup(): void {
    if (take(/\((?!\?)|\(\?P?<[A-Za-z0-9_]+>|\(\?(?:[imsU]*|[imsU]*-[imsU]+):/y) !== undefined)
      open();
    else if (take(/\(\?(?:[imsU]*|[imsU]*-[imsU]+)\)/y) !== undefined) group.repeated = false;
    else if (take(/\(\?<?[=!]/y) !== undefined)
      fail("looks ahead or behind with (?= (?! (?<= or (?<!, which RE2 does not have");
    else if (take(/\(\?P?</y) !== undefined)
      fail("has a group whose name is not made of letters A to Z, digits and _");
    else fail("has a group (?… that RE2 does not have");
  }

  function closeGroup(): void {
    at += 1;
    const { mostCopies } = group;
    group = outer.pop() ?? fail("has a ) without its (");
    operand(mostCopies);
  }

  function alternative(): void {
    at += 1;
    group.operand = false;
    group.repeated = false;
  }

  function repeat(times: number): void {
    take(/\?/y);
    if (group.repeated) fail("has two repetitions one after the other, such as a** or a++");
    if (!group.operand) fail("has a repetition with nothing before it to repeat");
    // An operand repeated 0 times is not copied.
    const copies = times === 0 ? 1 : group.copies * times;
    if (times > 1 && copies > MAX_REPEAT)
      fail(`repeats repetitions, ${copies} copies in all; ${MAX_REPEAT} are possible`);
    operand(copies);
    group.repeated = true;
  }

  function countedRepeat(): void {
    const count = take(/\{(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\}/y);
    if (count === undefined) {
      literal();
      return;
    }
    const [least = 0, most = least] = count
      .slice(1, -1)
      .split(",")
      .filter((part) => part !== "")
      .map(Number);
    if (least > most) fail("has a repetition {n,m} whose second number is the smaller one");
    if (most > MAX_REPEAT) fail(`repeats more than ${MAX_REPEAT} times`);
    // Without an upper bound, the operand is copied as often as the lower bound.
    repeat(most);
  }

  function literal(): void {
    character();
    operand();
  }

  /** `\Q…\E`: literal text. Without `\E` it extends to the end. */
  function literalText(): void {
    at += 2;
    const end = text.indexOf("\\E", at);
    const isEmpty = end === at || at === text.length;
    at = end < 0 ? text.length : end + 2;
    if (isEmpty) group.repeated = false;
    else operand();
  }

  function backslash(): void {
    if (text.startsWith("\\Q", at)) {
      literalText();
      return;
    }
    if (take(/\\[AbBz]/y) === undefined && !characterClass()) characterEscape();
    operand();
  }

  /** `\d` and its like, `\pL`, `\p{Greek}`. */
  function characterClass(): boolean {
    if (take(/\\[dDsSwW]/y) !== undefined) return true;
    if (take(/\\[pP]/y) === undefined) return false;
    const name = take(/\{\^?([A-Za-z_]+)\}|[A-Z]/y)?.replace(/[{^}]/g, "");
    if (name === undefined || !isKnownName(name))
      fail("has a Unicode class \\p with an unknown name");
    return true;
  }

  function isKnownName(name: string): boolean {
    if (!knownNames.has(name) && !isUnicodeName(name)) return false;
    knownNames.add(name);
    return true;
  }

  function characterEscape(): number {
    at += 1;
    if (at === text.length) fail("ends with a single \\");
    const octal = take(/0[0-7]{0,2}|[1-7][0-7]{1,2}/y);
    if (octal !== undefined) return Number.parseInt(octal, 8);
    const hex = take(/x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\})/y)?.replace(/[x{}]/g, "");
    if (hex !== undefined) return hexCode(hex);
    const code = character();
    const name = String.fromCodePoint(code);
    if (/[1-9]/.test(name)) fail(`refers back with \\${name}, which RE2 does not have`);
    if (/[A-Za-z0]|[^\0-\x7f]/.test(name))
      return CONTROL_ESCAPES.get(name) ?? fail(`has an escape \\${name} that RE2 does not have`);
    return code;
  }

  function hexCode(digits: string): number {
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? code : fail("has an escape \\x{…} beyond the last character");
  }

  function bracketClass(): void {
    take(/\[\^?/y);
    // A leading ] is literal.
    do classPart();
    while (at < text.length && text[at] !== "]");
    if (take(/\]/y) === undefined) fail("has a [ without its ]");
    operand();
  }

  function classPart(): void {
    if (at === text.length) fail("has a [ without its ]");
    const named = take(/\[:.*?:\]/sy);
    if (named !== undefined) {
      if (!POSIX_CLASSES.test(named.slice(2, -2))) fail("has an unknown class [:…:] in brackets");
      return;
    }
    if (characterClass()) return;
    const low = classCharacter();
    if (take(/-(?=[^\]])/y) !== undefined && classCharacter() < low)
      fail("has a range in brackets that runs backwards, such as [z-a]");
  }

  function classCharacter(): number {
    if (at === text.length) fail("has a [ without its ]");
    return text[at] === "\\" ? characterEscape() : character();
  }

  const steps = new Map([
    ["(", openGroup],
    [")", closeGroup],
    ["|", alternative],
    ["[", bracketClass],
    ["{", countedRepeat],
    ["\\", backslash],
  ]);

  function read(): void {
    while (at < text.length) {
      if (take(/[*+?]/y) !== undefined) repeat(1);
      else (steps.get(text.charAt(at)) ?? literal)();
    }
    if (outer.length > 0) fail("has a ( without its )");
  }

  return { read };
}

function newGroup(): Group {
  return { operand: false, repeated: false, copies: 1, mostCopies: 1 };
}

/** Reports whether a name is a general category, a script of Unicode, or `Any`. */
function isUnicodeName(name: string): boolean {
  if (name === "Any") return true;
  return ["gc", "sc"].some((property) => {
    try {
      new RegExp(`\\p{${property}=${name}}`, "u");
      return true;
    } catch {
      return false;
    }
  });
}

function fail(reason: string): never {
  throw new SyntaxProblem(reason);
}
