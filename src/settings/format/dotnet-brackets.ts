import { message } from "../../messages/message.ts";
import { readEscape, readUnicodeClass, WORD } from "./dotnet-escape.ts";
import { type Expression, fail } from "./expression.ts";

/** Maximum nesting of subtractions. */
const MAX_DEPTH = 1_000;

/** `[:name:]` in brackets: .NET reads it as an ordinary [ and skips the rest. */
const NAMED_CLASS = new RegExp(`\\[:\\^?${WORD}*:\\]`, "uy");

/** Reads the class `\d`, its like or `\pL`. @returns whether one is at the position. */
function readClass(expression: Expression): boolean {
  if (expression.take(/\\[dDsSwW]/y) !== undefined) return true;
  if (expression.take(/\\[pP]/y) === undefined) return false;
  readUnicodeClass(expression);
  return true;
}

/** Parser of brackets: `[…]`, with subtractions such as `[a-z-[aeiou]]`. */
export class BracketParser {
  readonly #expression: Expression;
  #depth = 0;
  /** Lower end of a range whose upper end is next. */
  #low: number | undefined;
  /** Whether the next character is the first one in its brackets, where ] and - are literal. */
  #isFirst = true;

  constructor(expression: Expression) {
    this.#expression = expression;
  }

  read(): void {
    this.#open();
    while (this.#depth > 0) {
      if (this.#expression.isAtEnd()) fail(message("EXPRESSION_BRACKET_OPEN"));
      this.#part();
    }
  }

  #open(): void {
    this.#expression.take(/\[\^?/y);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH)
      fail(message("EXPRESSION_SUBTRACTIONS_TOO_DEEP", { most: MAX_DEPTH }));
    this.#low = undefined;
    this.#isFirst = true;
  }

  #close(): void {
    this.#expression.at += 1;
    this.#depth -= 1;
    this.#low = undefined;
    if (this.#depth > 0 && !this.#expression.isAtEnd() && this.#expression.peek() !== "]")
      fail(message("EXPRESSION_SUBTRACTION_NOT_LAST"));
  }

  #part(): void {
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    if (this.#expression.peek() === "]" && !isFirst) this.#close();
    // An escaped minus neither begins nor ends a range.
    else if (this.#expression.take(/\\-/y) !== undefined) return;
    else if (readClass(this.#expression)) {
      if (this.#low !== undefined) fail(message("EXPRESSION_RANGE_WITH_CLASS"));
    } else if (this.#expression.peek() === "[" && this.#low !== undefined) this.#open();
    else this.#characterOrRange(isFirst);
  }

  #characterOrRange(isFirst: boolean): void {
    const isMinus = this.#expression.peek() === "-" && !isFirst;
    const code = this.#character();
    if (this.#low !== undefined) {
      if (this.#low > code) fail(message("EXPRESSION_RANGE_BACKWARDS"));
      this.#low = undefined;
    } else if (this.#beginsRange()) this.#low = code;
    else if (isMinus && this.#expression.peek() === "[") this.#open();
  }

  #beginsRange(): boolean {
    const isLast = this.#expression.at + 1 >= this.#expression.text.length;
    return !isLast && this.#expression.take(/-(?!\])/y) !== undefined;
  }

  #character(): number {
    if (this.#expression.peek() === "[" && this.#expression.take(NAMED_CLASS) !== undefined)
      return "[".charCodeAt(0);
    const isLast = this.#expression.at + 1 === this.#expression.text.length;
    if (this.#expression.peek() !== "\\" || isLast) return this.#expression.character();
    this.#expression.at += 1;
    return readEscape(this.#expression);
  }
}
