import { type Message, message } from "../../messages/message.ts";
import { Expression, fail, problemOf } from "./expression.ts";
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

/** Maximum count of a repetition, and of the copies of nested repetitions. */
const MAX_REPEAT = 1_000;
/** Maximum nesting of groups. */
const MAX_DEPTH = 1_000;

const POSIX_CLASSES =
  /^\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit)$/;

const CONTROL_ESCAPES: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);

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
 * Unicode classes are those of this JavaScript engine, and an expression whose compiled form is too
 * large for Go (128 MiB) is accepted.
 */
export function checkRe2(expression: string): Message | undefined {
  return problemOf(() => new Parser(expression).read());
}

/**
 * Parser of the RE2 syntax of Go's package regexp (https://golang.org/s/re2syntax). JavaScript's
 * own parser differs: it lacks (?U), \A, \z, \Q...\E and [[:alpha:]], and accepts back-references
 * and look-around, which RE2 rejects. One pass from left to right, no recursion (decision 0073).
 */
class Parser {
  readonly #expression: Expression;
  #group: Group = newGroup();
  readonly #outer: Group[] = [];
  readonly #knownNames = new Set<string>();

  constructor(text: string) {
    this.#expression = new Expression(text);
  }

  read(): void {
    while (!this.#expression.isAtEnd()) {
      if (this.#expression.take(/[*+?]/y) !== undefined) this.#repeat(1);
      else this.#step();
    }
    if (this.#outer.length > 0) fail(message("EXPRESSION_GROUP_OPEN"));
  }

  #step(): void {
    const character = this.#expression.peek();
    if (character === "(") this.#openGroup();
    else if (character === ")") this.#closeGroup();
    else if (character === "|") this.#alternative();
    else if (character === "[") this.#bracketClass();
    else if (character === "{") this.#countedRepeat();
    else if (character === "\\") this.#backslash();
    else this.#literal();
  }

  /** Records an operand at this position. */
  #operand(copies = 1): void {
    const mostCopies = Math.max(this.#group.mostCopies, copies);
    this.#group = { operand: true, repeated: false, copies, mostCopies };
  }

  #open(): void {
    this.#outer.push(this.#group);
    this.#group = newGroup();
    if (this.#outer.length > MAX_DEPTH)
      fail(message("EXPRESSION_GROUPS_TOO_DEEP", { most: MAX_DEPTH }));
  }

  #openGroup(): void {
    if (
      this.#expression.take(/\((?!\?)|\(\?P?<[A-Za-z0-9_]+>|\(\?(?:[imsU]*|[imsU]*-[imsU]+):/y) !==
      undefined
    )
      this.#open();
    else if (this.#expression.take(/\(\?(?:[imsU]*|[imsU]*-[imsU]+)\)/y) !== undefined)
      this.#group.repeated = false;
    else if (this.#expression.take(/\(\?<?[=!]/y) !== undefined)
      fail(message("EXPRESSION_LOOK_AROUND"));
    else if (this.#expression.take(/\(\?P?</y) !== undefined)
      fail(message("EXPRESSION_GROUP_NAME_RE2"));
    else fail(message("EXPRESSION_GROUP_NOT_RE2"));
  }

  #closeGroup(): void {
    this.#expression.at += 1;
    const { mostCopies } = this.#group;
    this.#group = this.#outer.pop() ?? fail(message("EXPRESSION_GROUP_CLOSED"));
    this.#operand(mostCopies);
  }

  #alternative(): void {
    this.#expression.at += 1;
    this.#group.operand = false;
    this.#group.repeated = false;
  }

  #repeat(times: number): void {
    this.#expression.take(/\?/y);
    if (this.#group.repeated) fail(message("EXPRESSION_REPETITION_TWICE"));
    if (!this.#group.operand) fail(message("EXPRESSION_REPETITION_OF_NOTHING"));
    // An operand repeated 0 times is not copied.
    const copies = times === 0 ? 1 : this.#group.copies * times;
    if (times > 1 && copies > MAX_REPEAT)
      fail(message("EXPRESSION_REPETITION_COPIES", { copies, most: MAX_REPEAT }));
    this.#operand(copies);
    this.#group.repeated = true;
  }

  #countedRepeat(): void {
    const count = this.#expression.take(/\{(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\}/y);
    if (count === undefined) {
      this.#literal();
      return;
    }
    const [least = 0, most = least] = count
      .slice(1, -1)
      .split(",")
      .filter((part) => part !== "")
      .map(Number);
    if (least > most) fail(message("EXPRESSION_REPETITION_ORDER", { form: "{n,m}" }));
    if (most > MAX_REPEAT) fail(message("EXPRESSION_REPETITION_TOO_LONG", { most: MAX_REPEAT }));
    // Without an upper bound, the operand is copied as often as the lower bound.
    this.#repeat(most);
  }

  #literal(): void {
    this.#expression.character();
    this.#operand();
  }

  /** `\Q…\E`: literal text. Without `\E` it extends to the end. */
  #literalText(): void {
    this.#expression.at += 2;
    const end = this.#expression.text.indexOf("\\E", this.#expression.at);
    const isEmpty = end === this.#expression.at || this.#expression.isAtEnd();
    this.#expression.at = end < 0 ? this.#expression.text.length : end + 2;
    if (isEmpty) this.#group.repeated = false;
    else this.#operand();
  }

  #backslash(): void {
    if (this.#expression.startsWith("\\Q")) {
      this.#literalText();
      return;
    }
    if (this.#expression.take(/\\[AbBz]/y) === undefined && !this.#characterClass())
      this.#characterEscape();
    this.#operand();
  }

  /** `\d` and its like, `\pL`, `\p{Greek}`. */
  #characterClass(): boolean {
    if (this.#expression.take(/\\[dDsSwW]/y) !== undefined) return true;
    if (this.#expression.take(/\\[pP]/y) === undefined) return false;
    const name = this.#expression.take(/\{\^?([A-Za-z_]+)\}|[A-Z]/y)?.replace(/[{^}]/g, "");
    if (name === undefined || !this.#isKnownName(name))
      fail(message("EXPRESSION_UNICODE_CLASS_UNKNOWN"));
    return true;
  }

  #isKnownName(name: string): boolean {
    if (!this.#knownNames.has(name) && !isUnicodeName(name)) return false;
    this.#knownNames.add(name);
    return true;
  }

  #characterEscape(): number {
    this.#expression.at += 1;
    if (this.#expression.isAtEnd()) fail(message("EXPRESSION_BACKSLASH_LAST"));
    const octal = this.#expression.take(/0[0-7]{0,2}|[1-7][0-7]{1,2}/y);
    if (octal !== undefined) return Number.parseInt(octal, 8);
    const hex = this.#expression
      .take(/x(?:[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\})/y)
      ?.replace(/[x{}]/g, "");
    if (hex !== undefined) return this.#hexCode(hex);
    const code = this.#expression.character();
    const name = String.fromCodePoint(code);
    if (/[1-9]/.test(name)) fail(message("EXPRESSION_REFERENCE_BACK", { name }));
    if (/[A-Za-z0]|[^\0-\x7f]/.test(name))
      return CONTROL_ESCAPES.get(name) ?? fail(message("EXPRESSION_ESCAPE_NOT_RE2", { name }));
    return code;
  }

  #hexCode(digits: string): number {
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? code : fail(message("EXPRESSION_ESCAPE_BEYOND", { form: "\\x{…}" }));
  }

  #bracketClass(): void {
    this.#expression.take(/\[\^?/y);
    // A leading ] is literal.
    do this.#classPart();
    while (!this.#expression.isAtEnd() && this.#expression.peek() !== "]");
    if (this.#expression.take(/\]/y) === undefined) fail(message("EXPRESSION_BRACKET_OPEN"));
    this.#operand();
  }

  #classPart(): void {
    if (this.#expression.isAtEnd()) fail(message("EXPRESSION_BRACKET_OPEN"));
    const named = this.#expression.take(/\[:.*?:\]/sy);
    if (named !== undefined) {
      if (!POSIX_CLASSES.test(named.slice(2, -2))) fail(message("EXPRESSION_POSIX_CLASS_UNKNOWN"));
      return;
    }
    if (this.#characterClass()) return;
    const low = this.#classCharacter();
    if (this.#expression.take(/-(?=[^\]])/y) !== undefined && this.#classCharacter() < low)
      fail(message("EXPRESSION_RANGE_BACKWARDS"));
  }

  #classCharacter(): number {
    if (this.#expression.isAtEnd()) fail(message("EXPRESSION_BRACKET_OPEN"));
    return this.#expression.peek() === "\\"
      ? this.#characterEscape()
      : this.#expression.character();
  }
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
