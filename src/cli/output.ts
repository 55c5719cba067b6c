import { styleText } from "node:util";
import { type DescMessage, type MessageShape, toJson } from "@bufbuild/protobuf";
import stringWidth from "string-width";
import type { Environment } from "../config/config.ts";
import type { OutputStream } from "./world.ts";

/** Styles in use; none carries a meaning by itself. */
type Style = "bold" | "dim" | "red" | "green" | "yellow";

/** Standard output or standard error of a command. */
export interface Output {
  readonly isTerminal: boolean;
  /** Columns of the terminal; Infinity without one. */
  readonly width: number;
  /** Whether the reader has gone. */
  readonly isClosed: boolean;
  style(style: Style, text: string): string;
  /**
   * Writes text unchanged; resolves when the stream has accepted it. Text for a reader that has gone
   * is discarded: the command continues to its exit code.
   */
  write(text: string): Promise<void>;
  /** Writes a value: unchanged to a pipe or file, without control characters to a terminal. */
  value(text: string): Promise<void>;
  table(columns: readonly Column[], rows: readonly (readonly string[])[]): Promise<void>;
  /** Writes a message of the contract as JSON with the names of the proto file, all members. */
  json<D extends DescMessage>(desc: D, message: MessageShape<D>): Promise<void>;
  /** Like json, in one line. */
  jsonLine<D extends DescMessage>(desc: D, message: MessageShape<D>): Promise<void>;
}

export function createOutput(stream: OutputStream, env: Environment): Output {
  const isTerminal = stream.isTTY === true;
  const width = isTerminal ? Math.max(stream.columns || 80, 20) : Number.POSITIVE_INFINITY;
  const { NO_COLOR, TERM } = env;
  const colors = isTerminal && !NO_COLOR && TERM !== "dumb";
  const style: Output["style"] = (format, text) =>
    colors ? styleText(format, text, { validateStream: false }) : text;
  const writer = createWriter(stream);
  const { write } = writer;
  return {
    isTerminal,
    width,
    get isClosed() {
      return writer.isClosed;
    },
    style,
    write,
    value: (text) => write(isTerminal ? printableText(text) : text),
    table: (columns, rows) =>
      write(renderTable(columns, rows, { width, head: (line) => style("bold", line) })),
    json: (desc, message) => write(`${jsonOf(desc, message, 2)}\n`),
    jsonLine: (desc, message) => write(`${jsonOf(desc, message)}\n`),
  };
}

function createWriter(stream: OutputStream): Pick<Output, "write" | "isClosed"> {
  let failure: unknown;
  // A stream without this listener would end the process when its reader goes away.
  stream.on("error", (error) => {
    failure ??= error;
  });
  return {
    get isClosed() {
      return isClosed(failure);
    },
    write: (text) =>
      new Promise((resolve, reject) => {
        const settle = (error: unknown): void => {
          failure ??= error ?? undefined;
          if (failure === undefined || isClosed(failure)) resolve();
          else reject(failure);
        };
        if (failure !== undefined) settle(failure);
        else stream.write(text, settle);
      }),
  };
}

function isClosed(error: unknown): boolean {
  if (!(error instanceof Error && "code" in error)) return false;
  return ["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"].includes(
    String(error.code),
  );
}

function jsonOf<D extends DescMessage>(desc: D, message: MessageShape<D>, indent?: number): string {
  const json = toJson(desc, message, { alwaysEmitImplicit: true, useProtoFieldName: true });
  return printableJson(JSON.stringify(json, undefined, indent));
}

/** A column of a table. */
interface Column {
  readonly title: string;
  /** Whether the column shrinks when the terminal is too narrow. */
  readonly flexible?: true;
}

interface TableOptions {
  /** Columns of the terminal; Infinity: no truncation. */
  readonly width: number;
  /** Formats the header line. */
  readonly head: (line: string) => string;
}

const GAP = "  ";
/** Maximum padding of a column in a table without truncation. */
const MAX_PAD = 48;
/** Minimum width of a flexible column, even if lines become too long. */
const MIN_FLEXIBLE = 8;

/**
 * Formats rows of texts, aligned by display width. Control characters are escaped, so that a row is
 * one line. Values that do not fit into the terminal are truncated with `…`.
 *
 * @returns lines, each with its line break.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  { width, head }: TableOptions,
): string {
  const cells = rows.map((row) => row.map(printableLine));
  const natural = columns.map(({ title }, at) =>
    Math.max(displayWidth(title), ...cells.map((row) => displayWidth(row[at] ?? ""))),
  );
  const widths = shareWidth(columns, natural, width);
  const titles = line(
    columns.map(({ title }) => title),
    widths,
    width,
  );
  return [head(titles), ...cells.map((row) => line(row, widths, width))]
    .map((text) => `${text}\n`)
    .join("");
}

/** Distributes the remaining width among the flexible columns, the narrow ones first. */
function shareWidth(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): number[] {
  const widths = [...natural];
  const flexible = columns
    .flatMap((column, at) => (column.flexible ? [at] : []))
    .sort((a, b) => (natural[a] ?? 0) - (natural[b] ?? 0));
  const fixed = natural.reduce((sum, each, at) => sum + (flexible.includes(at) ? 0 : each), 0);
  let left = width - fixed - GAP.length * (columns.length - 1);
  flexible.forEach((at, index) => {
    const share = Math.max(Math.floor(left / (flexible.length - index)), MIN_FLEXIBLE);
    widths[at] = Math.min(natural[at] ?? 0, share);
    left -= widths[at] ?? 0;
  });
  return widths;
}

function line(row: readonly string[], widths: readonly number[], width: number): string {
  const texts = row.map((cell, at) => {
    const columns = widths[at] ?? 0;
    const text = Number.isFinite(width) ? cutToWidth(cell, columns) : cell;
    const padded = Number.isFinite(width) ? columns : Math.min(columns, MAX_PAD);
    const isLast = at === row.length - 1;
    return isLast ? text : text + " ".repeat(Math.max(padded - displayWidth(text), 0));
  });
  return texts.join(GAP).trimEnd();
}

const ASCII = /^[\x20-\x7e]*$/;

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Terminal columns of a line without control characters. */
export function displayWidth(line: string): number {
  // The library first removes escape sequences, which takes several times as long.
  return ASCII.test(line) ? line.length : stringWidth(line);
}

/** Truncates a line to a number of columns, with `…` at the end. */
export function cutToWidth(line: string, columns: number): string {
  // Text far beyond the width of any terminal is not measured.
  const near = line.length > 16 * (columns + 1) ? line.slice(0, 16 * (columns + 1)) : line;
  if (near === line && displayWidth(near) <= columns) return line;
  let kept = "";
  let width = 0;
  for (const { segment } of segmenter.segment(near)) {
    width += displayWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Control characters (C0, DEL, C1), line separators, and bidirectional control characters. */
const HOSTILE = /[\p{Cc}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * One line that is safe to print on a terminal: control characters are escaped as in JSON.
 * Backslashes stay, because regular expressions are full of them.
 */
export function printableLine(text: string): string {
  return text.replace(HOSTILE, (character) => SHORT[character] ?? escaped(character));
}

/** Like printableLine for text with several lines: line breaks and tabs stay. */
export function printableText(text: string): string {
  return text.replace(HOSTILE, (character) =>
    character === "\n" || character === "\t" ? character : escaped(character),
  );
}

/** JSON for a terminal: the same JSON, with the characters escaped that JSON.stringify leaves. */
export function printableJson(json: string): string {
  return json.replace(HOSTILE, (character) =>
    character === "\n" ? character : escaped(character),
  );
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
