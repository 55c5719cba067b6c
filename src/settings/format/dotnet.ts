import { type Message, message } from "../../messages/message.ts";
import { BracketParser } from "./dotnet-brackets.ts";
import { readEscape, readUnicodeClass, WORD } from "./dotnet-escape.ts";
import { CapturingGroups } from "./dotnet-groups.ts";
import { Expression, fail, problemOf } from "./expression.ts";
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

/** Maximum nesting of groups. */
const MAX_DEPTH = 1_000;
/** Largest number of a repetition or a group. */
const MAX_NUMBER = 0x7fff_ffff;

const BAD_NAME = message("EXPRESSION_GROUP_NAME_INVALID");
const BAD_REFERENCE = message("EXPRESSION_REFERENCE_INVALID");

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
export function checkDotnet(expression: string): Message | undefined {
  return problemOf(() => new Parser(expression).read());
}

/**
 * Parser of the .NET syntax. JavaScript's own parser differs: it lacks atomic and balancing groups,
 * conditions, inline options, comments, subtraction in brackets, \A, \z, \G and \p{L}, and it
 * accepts unknown escapes. One pass from left to right, no recursion; references are checked at the
 * end, when all groups are known (decision 0080).
 */
class Parser {
  readonly #expression: Expression;
  readonly #capturing = new CapturingGroups();
  /** Open groups, the innermost last. */
  readonly #groups: Group[] = [];
  #options: Options = { spaced: false, named: false };
  /** Whether an operand precedes this position, which a repetition can repeat. */
  #operand = false;
  /** Whether the next group is the test of a condition, which does not capture. */
  #isTest = false;

  constructor(text: string) {
    this.#expression = new Expression(text);
  }

  read(): void {
    this.#skipComments();
    while (!this.#expression.isAtEnd()) {
      const isLiteral = this.#step();
      const last = this.#expression.text.charAt(this.#expression.at - 1);
      // The servers' reader accepts a comment without its end after a literal character.
      this.#skipComments({ isEnd: isLiteral && !/[.^$]/.test(last) });
    }
    if (this.#groups.length > 0) fail(message("EXPRESSION_GROUP_OPEN"));
    this.#capturing.checkReferences();
  }

  /** @returns whether a literal character was read. */
  #step(): boolean {
    const next = this.#expression.peek();
    if (next === "(") this.#openGroup();
    else if (next === ")") this.#closeGroup();
    else if (next === "|") this.#alternative();
    else if (next === "[") this.#brackets();
    else if (next === "\\") this.#backslash();
    else if (!this.#repeat()) {
      this.#expression.character();
      this.#operand = true;
      return true;
    }
    return false;
  }

  /**
   * Skips comments, and with the option x white space.
   *
   * @param isEnd - whether a comment without its end is the end of the expression.
   */
  #skipComments({ isEnd = false } = {}): void {
    for (;;) {
      const isSpace = this.#options.spaced && this.#expression.take(/[\t-\r ]+|#[^\n]*/y);
      if (isSpace) continue;
      if (!this.#expression.startsWith("(?#")) return;
      if (this.#expression.take(/[^)]*\)/y) !== undefined) continue;
      if (!isEnd) fail(message("EXPRESSION_COMMENT_OPEN"));
      this.#expression.at = this.#expression.text.length;
    }
  }

  #open(condition?: Group["condition"], outside = this.#options): void {
    this.#groups.push({ outside, condition, alternatives: 1, hasTest: false });
    if (this.#groups.length > MAX_DEPTH)
      fail(message("EXPRESSION_GROUPS_TOO_DEEP", { most: MAX_DEPTH }));
    this.#operand = false;
  }

  #openGroup(): void {
    this.#expression.at += 1;
    const isTest = this.#isTest;
    this.#isTest = false;
    // "(?)" is a group with the repetition ?, which has nothing to repeat.
    if (this.#expression.peek() !== "?" || this.#expression.startsWith("?)")) {
      if (!this.#options.named && !isTest) this.#capturing.addUnnamed();
      this.#open();
    } else if (this.#expression.take(/\?(?:[:=!>]|<[=!])/y) !== undefined) this.#open();
    else if (this.#expression.take(/\?[<']/y) !== undefined) {
      if (isTest) fail(message("EXPRESSION_CONDITION_NAMED"));
      this.#namedGroup();
    } else if (this.#expression.startsWith("?(")) this.#condition();
    else this.#optionGroup();
  }

  /** `(?<name>`, `(?<name-other>`, `(?<-other>`, or with ' instead of < and >. */
  #namedGroup(): void {
    const opening = this.#expression.text.charAt(this.#expression.at - 1);
    const name = this.#groupName();
    if (name !== "") this.#addGroup(name);
    if (this.#expression.peek() === "-") {
      this.#expression.at += 1;
      const other = this.#groupName();
      if (other === "") fail(BAD_NAME);
      this.#refer(other);
    } else if (name === "") fail(BAD_NAME);
    if (this.#expression.peek() !== closingOf(opening)) fail(BAD_NAME);
    this.#expression.at += 1;
    this.#open();
  }

  #addGroup(name: string): void {
    if (!isNumber(name)) {
      this.#capturing.addNamed(name);
      return;
    }
    const number = toNumber(name);
    if (number === 0) fail(message("EXPRESSION_GROUP_ZERO"));
    // Groups whose number begins with 0 are references only.
    if (name.startsWith("0")) this.#capturing.refer(number);
    else this.#capturing.addNumbered(number);
  }

  /** Reads the name or number of a group; empty: none is at the position. */
  #groupName(): string {
    return this.#expression.take(/\d+/y) ?? this.#expression.take(NAME) ?? "";
  }

  #refer(group: string): void {
    this.#capturing.refer(isNumber(group) ? toNumber(group) : group);
  }

  /** `(?(1)yes|no)`, `(?(name)yes|no)` or `(?(expression)yes|no)`. */
  #condition(): void {
    this.#expression.at += 1;
    const number = this.#expression.take(/\(\d+/y)?.slice(1);
    if (number === undefined) {
      if (this.#expression.startsWith("(?#")) fail(message("EXPRESSION_CONDITION_COMMENT"));
      this.#open("expression");
      this.#isTest = true;
      return;
    }
    if (this.#expression.peek() !== ")") fail(message("EXPRESSION_CONDITION_OPEN"));
    this.#expression.at += 1;
    this.#refer(number);
    this.#open("reference");
  }

  /** `(?i)`, which changes the options of the rest of the group, or `(?i:`. */
  #optionGroup(): void {
    this.#expression.at += 1;
    const outside = this.#options;
    if (this.#groups.at(-1)?.condition !== "expression") this.#readOptions();
    if (this.#expression.take(/\)/y) !== undefined) this.#operand = false;
    else if (this.#expression.take(/:/y) !== undefined) this.#open(undefined, outside);
    else fail(message("EXPRESSION_GROUP_KIND_UNKNOWN"));
  }

  #readOptions(): void {
    let isOn = true;
    for (const letter of (this.#expression.take(/[imnsxdu+-]*/iy) ?? "").toLowerCase()) {
      if (letter === "+" || letter === "-") isOn = letter === "+";
      if (letter === "x") this.#options = { ...this.#options, spaced: isOn };
      if (letter === "n") this.#options = { ...this.#options, named: isOn };
    }
  }

  #closeGroup(): void {
    this.#expression.at += 1;
    const group = this.#groups.pop() ?? fail(message("EXPRESSION_GROUP_CLOSED"));
    if (group.condition !== undefined && group.alternatives > 2)
      fail(message("EXPRESSION_CONDITION_ALTERNATIVES"));
    this.#options = group.outside;
    const outer = this.#groups.at(-1);
    const isConditionTest = outer?.condition === "expression" && !outer.hasTest;
    if (isConditionTest) outer.hasTest = true;
    this.#operand = !isConditionTest;
  }

  #alternative(): void {
    this.#expression.at += 1;
    this.#operand = false;
    const group = this.#groups.at(-1);
    if (group !== undefined) group.alternatives += 1;
  }

  #brackets(): void {
    new BracketParser(this.#expression).read();
    this.#operand = true;
  }

  /** `*`, `+`, `?` and `{n,m}`; another `{` is literal. @returns whether it is one. */
  #repeat(): boolean {
    const token = this.#expression.take(/[*+?]|\{\d+(?:,\d*)?\}/y);
    if (token === undefined) return false;
    if (!this.#operand) fail(message("EXPRESSION_REPETITION_OF_NOTHING"));
    const [least = 0, most = least] = (token.match(/\d+/g) ?? []).map(toNumber);
    if (least > most) fail(message("EXPRESSION_REPETITION_ORDER", { form: "{n,m}" }));
    this.#skipComments();
    this.#expression.take(/\?/y);
    this.#operand = false;
    return true;
  }

  #backslash(): void {
    this.#expression.at += 1;
    if (this.#expression.isAtEnd()) fail(message("EXPRESSION_BACKSLASH_LAST"));
    this.#operand = true;
    if (this.#expression.take(/[bBAGZzwWsSdD]/y) !== undefined) return;
    if (this.#expression.take(/[pP]/y) !== undefined) readUnicodeClass(this.#expression);
    else if (!this.#numberReference() && !this.#nameReference()) readEscape(this.#expression);
  }

  /** `\1`; from 10 on, digits that can be octal are an escape. @returns whether it is a number. */
  #numberReference(): boolean {
    const digits = this.#expression.take(/[1-9]\d*/y);
    if (digits === undefined) return false;
    const number = toNumber(digits);
    const isOctal = number > 9 && /^[1-7]/.test(digits);
    if (!isOctal) this.#capturing.refer(number);
    return true;
  }

  /** `\k<name>`, `\k'name'`, `\<name>` or `\'name'`. @returns whether it is one. */
  #nameReference(): boolean {
    const start = this.#expression.at;
    const isNamed = this.#expression.peek() === "k";
    const opening = this.#expression.take(/k?[<']/y)?.slice(-1);
    if (opening === undefined) return isNamed ? fail(BAD_REFERENCE) : false;
    const name = this.#groupName();
    if (name === "" || this.#expression.peek() !== closingOf(opening)) {
      if (isNamed) fail(BAD_REFERENCE);
      this.#expression.at = start;
      return false;
    }
    this.#expression.at += 1;
    this.#refer(name);
    return true;
  }
}

const NAME = new RegExp(`${WORD}+`, "uy");

function isNumber(group: string): boolean {
  return /^\d+$/.test(group);
}

function toNumber(digits: string): number {
  const value = Number(digits);
  return value <= MAX_NUMBER ? value : fail(message("EXPRESSION_NUMBER_TOO_LARGE"));
}

function closingOf(opening: string): string {
  return opening === "<" ? ">" : "'";
}
