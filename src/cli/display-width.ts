/**
 * Characters of two columns: East Asian Wide and Fullwidth (Unicode TR 11), by their blocks, and
 * what is shown as an emoji.
 */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;

/** Nothing but marks and invisible characters: no column of their own. */
const EMPTY = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

const ASCII = /^[\x20-\x7e]*$/;

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** How many columns of a terminal a line without control characters takes. */
export function displayWidth(line: string): number {
  if (ASCII.test(line)) return line.length;
  let width = 0;
  for (const { segment } of segmenter.segment(line)) width += widthOf(segment);
  return width;
}

/** The line, or its beginning and `…` when it takes more columns than there are. */
export function cutToWidth(line: string, columns: number): string {
  // What is far beyond any terminal is not even looked at.
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
