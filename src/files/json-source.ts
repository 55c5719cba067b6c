/*
 * JSON parser that records the position of each value, so that errors in a file have line and
 * column. JSON.parse has no positions of values, not always those of syntax errors, and silently
 * uses the last one of equal members. The grammar is kept in one file.
 */

import { setOwn } from "../own-value.ts";
import { createTicks, LONGEST_OF_ARCHIVE } from "../ticks.ts";

/** Position in a text as in editors: both members count from 1, the column in UTF-16 units. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Steps from the root value: member names and array indexes. */
export type JsonPath = readonly (string | number)[];

/** Parsed text with the positions of its parts. */
export interface JsonSource {
  readonly value: unknown;
  /**
   * Position of the value at `path`, or of its member name when `at` is "name". For a path that
   * does not exist: the nearest existing parent.
   */
  readonly positionOf: (path: JsonPath, at?: "name" | "value") => Position;
}

/** Error for text that is not JSON (RFC 8259) or is nested too deeply. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
  readonly position: Position;

  constructor(reason: string, position: Position) {
    super(reason);
    this.position = position;
  }
}

interface Offset {
  readonly name: number;
  readonly value: number;
}

/** Offsets of the members of each object and the elements of each array. */
type Offsets = WeakMap<object, Map<string | number, Offset>>;

/**
 * Parses one JSON text. Equal member names in one object are an error.
 *
 * @param maxDepth - maximum nesting of arrays and objects.
 * @throws JsonSyntaxError at the first invalid character.
 */
export function parseJson(text: string, maxDepth: number): JsonSource {
  const offsets: Offsets = new WeakMap();
  const reader = new Reader(text, maxDepth, offsets);
  const { value, start } = reader.document();
  return {
    value,
    positionOf: (path, at = "value") =>
      positionAt(text, offsetOf({ value, start }, offsets, path, at)),
  };
}

/**
 * Parses one long JSON text in ticks of the event loop, without positions of its values. It accepts
 * and rejects the same texts as {@link parseJson}.
 *
 * @param signal ends it.
 * @throws JsonSyntaxError at the first invalid character; the reason of the signal.
 */
export async function parseJsonInTicks(
  text: string,
  maxDepth: number,
  signal?: AbortSignal,
): Promise<unknown> {
  const ticks = createTicks(signal, LONGEST_OF_ARCHIVE);
  const steps = new Reader(text, maxDepth).documentInSteps();
  for (;;) {
    if (ticks.isDue()) await ticks.next();
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Levels of a long text whose members and elements are read in steps; deeper ones are short. */
const LEVELS_IN_STEPS = 2;

/** Reader of one text, from left to right. */
class Reader {
  readonly #text: string;
  readonly #maxDepth: number;
  /** Undefined: positions are not recorded. */
  readonly #offsets: Offsets | undefined;
  #at = 0;

  constructor(text: string, maxDepth: number, offsets?: Offsets) {
    this.#text = text;
    this.#maxDepth = maxDepth;
    this.#offsets = offsets;
  }

  #fail(reason: string, offset = this.#at): never {
    throw new JsonSyntaxError(reason, positionAt(this.#text, offset));
  }

  #found(): string {
    const character = this.#text.codePointAt(this.#at);
    return character === undefined
      ? "the file ends here"
      : `found ${JSON.stringify(String.fromCodePoint(character))}`;
  }

  #skipSpace(): void {
    while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #token(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [match] = pattern.exec(this.#text) ?? [];
    this.#at += match?.length ?? 0;
    return match;
  }

  #string(): string {
    const start = this.#at;
    const quoted = this.#token(/"(?:[^"\\\n]|\\.)*"/y);
    if (quoted === undefined) this.#fail("this text has no closing quote on its line", start);
    try {
      return JSON.parse(quoted) as string;
    } catch {
      return this.#fail("this text has a control character or an invalid escape", start);
    }
  }

  #scalar(): unknown {
    if (this.#text[this.#at] === '"') return this.#string();
    const start = this.#at;
    const word = this.#token(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (word === undefined || /[\w.+-]/.test(this.#text[this.#at] ?? "")) {
      this.#at = start;
      this.#fail(`expected a value, ${this.#found()}`);
    }
    return JSON.parse(word);
  }

  /** Opens an object or array. @returns whether it has members or elements. */
  #open(parts: object, closing: string): boolean {
    this.#offsets?.set(parts, new Map());
    this.#at += 1;
    this.#skipSpace();
    return !this.#take(closing);
  }

  /** Reads the comma or the closing bracket after a member or element. @returns whether another one follows. */
  #continues(closing: string): boolean {
    this.#skipSpace();
    if (this.#take(",")) return true;
    if (!this.#take(closing)) this.#fail(`expected "," or "${closing}", ${this.#found()}`);
    return false;
  }

  /** Reads the name of the next member, up to its value. */
  #name(object: object): string {
    this.#skipSpace();
    const name = this.#at;
    if (this.#text[this.#at] !== '"')
      this.#fail(`expected a member name in double quotes, ${this.#found()}`);
    const key = this.#string();
    if (Object.hasOwn(object, key))
      this.#fail(`member ${JSON.stringify(key)} occurs a second time here`, name);
    this.#skipSpace();
    if (!this.#take(":")) this.#fail(`expected ":" after the member name, ${this.#found()}`);
    this.#skipSpace();
    this.#offsets?.get(object)?.set(key, { name, value: this.#at });
    return key;
  }

  /** Goes to the next element. */
  #element(array: readonly unknown[]): void {
    this.#skipSpace();
    this.#offsets?.get(array)?.set(array.length, { name: this.#at, value: this.#at });
  }

  #members(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    if (!this.#open(object, "}")) return object;
    do {
      const key = this.#name(object);
      setMember(object, key, this.#anything(depth));
    } while (this.#continues("}"));
    return object;
  }

  #elements(depth: number): unknown[] {
    const array: unknown[] = [];
    if (!this.#open(array, "]")) return array;
    do {
      this.#element(array);
      array.push(this.#anything(depth));
    } while (this.#continues("]"));
    return array;
  }

  *#membersInSteps(depth: number): Generator<undefined, Record<string, unknown>> {
    const object: Record<string, unknown> = {};
    if (!this.#open(object, "}")) return object;
    do {
      yield;
      const key = this.#name(object);
      setMember(object, key, yield* this.#anythingInSteps(depth));
    } while (this.#continues("}"));
    return object;
  }

  *#elementsInSteps(depth: number): Generator<undefined, unknown[]> {
    const array: unknown[] = [];
    if (!this.#open(array, "]")) return array;
    do {
      yield;
      this.#element(array);
      array.push(yield* this.#anythingInSteps(depth));
    } while (this.#continues("]"));
    return array;
  }

  #anything(depth: number): unknown {
    const opening = this.#text[this.#at];
    if (opening !== "{" && opening !== "[") return this.#scalar();
    if (depth === this.#maxDepth)
      this.#fail(`more than ${this.#maxDepth} levels of nested arrays and objects`);
    return opening === "{" ? this.#members(depth + 1) : this.#elements(depth + 1);
  }

  *#anythingInSteps(depth: number): Generator<undefined, unknown> {
    const opening = this.#text[this.#at];
    const isLong = depth < Math.min(LEVELS_IN_STEPS, this.#maxDepth);
    if (isLong && opening === "{") return yield* this.#membersInSteps(depth + 1);
    if (isLong && opening === "[") return yield* this.#elementsInSteps(depth + 1);
    return this.#anything(depth);
  }

  document(): { value: unknown; start: number } {
    this.#skipSpace();
    const start = this.#at;
    const value = this.#anything(0);
    this.#end();
    return { value, start };
  }

  /** The document, with a step for each member or element of its first levels. */
  *documentInSteps(): Generator<undefined, unknown> {
    this.#skipSpace();
    const value = yield* this.#anythingInSteps(0);
    this.#end();
    return value;
  }

  #end(): void {
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail(`expected the end of the file, ${this.#found()}`);
  }
}

/** Sets a member: "__proto__" is an ordinary one here. */
function setMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") setOwn(object, key, value);
  else object[key] = value;
}

function offsetOf(
  root: { value: unknown; start: number },
  offsets: Offsets,
  path: JsonPath,
  at: "name" | "value",
): number {
  let value = root.value;
  let offset: Offset = { name: root.start, value: root.start };
  for (const step of path) {
    const next =
      typeof value === "object" && value !== null ? offsets.get(value)?.get(step) : undefined;
    if (next === undefined) return offset.value;
    offset = next;
    value = (value as Record<string | number, unknown>)[step];
  }
  return offset[at];
}

function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  const lastBreak = before.lastIndexOf("\n");
  return { line: before.split("\n").length, column: offset - lastBreak };
}
