import { printableLine } from "./printable.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  /** Whether the column shrinks when the terminal is too narrow. */
  readonly flexible?: true;
}

export interface TableOptions {
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

/**
 * Characters of two columns: East Asian Wide and Fullwidth (Unicode TR 11), by their blocks, and
 * emoji.
 */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** Text of marks and invisible characters only, which has no width. */
const EMPTY = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

const ASCII = /^[\x20-\x7e]*$/;

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Terminal columns of a line without control characters. */
export function displayWidth(line: string): number {
  if (ASCII.test(line)) return line.length;
  let width = 0;
  for (const { segment } of segmenter.segment(line)) width += widthOf(segment);
  return width;
}

/** Truncates a line to a number of columns, with `…` at the end. */
export function cutToWidth(line: string, columns: number): string {
  // Text far beyond the width of any terminal is not measured.
  const near = line.length > 16 * (columns + 1) ? line.slice(0, 16 * (columns + 1)) : line;
  if (near === line && displayWidth(near) <= columns) return line;
  let kept = "";
  let width = 0;
  for (const { segment } of segmenter.segment(near)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

function widthOf(grapheme: string): number {
  if (ASCII.test(grapheme)) return 1;
  if (EMPTY.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
