import { cutToWidth, displayWidth } from "./display-width.ts";
import { printableLine } from "./printable.ts";

/** A column of a table. */
export interface Column {
  readonly title: string;
  /** Gives way when the terminal is too narrow. */
  readonly flexible?: true;
}

export interface TableOptions {
  /** Columns of the terminal; Infinity: nothing is cut. */
  readonly width: number;
  /** Sets the head apart. */
  readonly head: (line: string) => string;
}

const GAP = "  ";
/** A wider cell of a table that nobody cuts does not push the cells of other rows aside. */
const MAX_PAD = 48;
/** A flexible column keeps this much, even where that makes lines too long. */
const MIN_FLEXIBLE = 8;

/**
 * Lays out rows of texts, aligned by display width; control characters are escaped, so that a row
 * is a line. Values that don't fit into the terminal end in `…`; where there is no terminal they are
 * whole.
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

/** Gives the flexible columns what the others leave, the narrow ones first. */
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
