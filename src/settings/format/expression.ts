import { type Message, message } from "../../messages/message.ts";

/** Problem of an expression. */
class SyntaxProblem extends Error {
  readonly reason: Message;

  constructor(reason: Message) {
    super(String(reason));
    this.reason = reason;
  }
}

/** Rejects the expression that is being parsed. @param reason continues "line 3 …". */
export function fail(reason: Message): never {
  throw new SyntaxProblem(reason);
}

/** Runs a parser. @returns the reason with which it failed; undefined: the expression is valid. */
export function problemOf(parse: () => void): Message | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxProblem) return error.reason;
    throw error;
  }
}

/** A regular expression as text, and the position of its parser. */
export class Expression {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** The character at the position, as one UTF-16 unit; empty at the end. */
  peek(): string {
    return this.text.charAt(this.at);
  }

  startsWith(token: string): boolean {
    return this.text.startsWith(token, this.at);
  }

  /**
   * Reads a token.
   *
   * @param pattern - with the flag y.
   * @returns undefined if there is none at the position, which then stays.
   */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [token] = pattern.exec(this.text) ?? [];
    this.at += token?.length ?? 0;
    return token;
  }

  /** Reads one character. @returns its code. */
  character(): number {
    const code = this.text.codePointAt(this.at) ?? fail(message("EXPRESSION_END"));
    this.at += code > 0xffff ? 2 : 1;
    return code;
  }
}
