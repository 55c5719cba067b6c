import { type Finding, reached, type Target, type Verdict } from "./experiment.ts";

/** Markers in docs/performance.md around the results of a run. */
export const BEGIN = "<!-- results: begin (written by the bench, not by hand) -->";
export const END = "<!-- results: end -->";

/** Puts results between the markers of a document. @throws Error when they are missing. */
export function withResults(document: string, results: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`the document lacks the lines ${BEGIN} and ${END}`);
  return `${document.slice(0, begin + BEGIN.length)}\n\n${results}\n\n${document.slice(end)}`;
}

/** All findings in Markdown. @param skipped reasons, one for each experiment left out. */
export function resultsMarkdown(
  head: readonly string[],
  findings: readonly Finding[],
  skipped: readonly string[],
): string {
  return [
    list(head),
    targetMarkdown(findings),
    ...findings.map(findingMarkdown),
    ...(skipped.length === 0 ? [] : ["### Not measured", list(skipped)]),
  ].join("\n\n");
}

/** All figures with a target. */
export function targetMarkdown(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ name, verdicts }) =>
    verdicts.flatMap((verdict) => {
      const { text, target } = verdict;
      if (target === undefined) return [];
      const outcome = reached(verdict.value, target)
        ? "reached"
        : `**${distanceText(verdict.value, target)}**`;
      return [[`${name}: ${text}`, figureText(verdict), targetText(target), outcome]];
    }),
  );
  return `### Targets\n\n${table([["what", "figure", "target", "outcome"], ...rows])}`;
}

/** Finding as text: its table, and the figures without a target. */
export function findingMarkdown(finding: Finding): string {
  const { name, title, load, columns, rows, verdicts, notes = [] } = finding;
  const remarks = verdicts
    .filter(({ target }) => target === undefined)
    .map((verdict) => `${verdict.text}: ${figureText(verdict)}`);
  return [
    `### ${name}: ${title}`,
    `Load: ${load}.`,
    table([columns, ...rows]),
    ...(remarks.length + notes.length === 0 ? [] : [list([...remarks, ...notes])]),
  ].join("\n\n");
}

/** `0.82× (0.80 to 0.84)`. */
function figureText({ value, unit, lowest, highest }: Verdict): string {
  const known = lowest !== undefined && highest !== undefined;
  const range = known ? ` (${decimal(lowest)} to ${decimal(highest)})` : "";
  return `${decimal(value)}${unit}${range}`;
}

/** `to reach ≥ 0.80` or `to stay ≤ 150`. */
function targetText(target: Target): string {
  return target.atLeast !== undefined
    ? `to reach ≥ ${decimal(target.atLeast)}`
    : `to stay ≤ ${decimal(target.atMost)}`;
}

/** Missing factor to a target. */
function distanceText(value: number, target: Target): string {
  const factor = target.atLeast !== undefined ? target.atLeast / value : value / target.atMost;
  return `NOT reached, ${decimal(factor)}× away`;
}

/** Markdown table with the first column left-aligned, the others right-aligned. */
function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const [head = [], ...body] = cells;
  const line = (row: readonly string[]) => `| ${row.join(" | ")} |`;
  return [
    line(head),
    line(head.map((_, at) => (at === 0 ? "---" : "---:"))),
    ...body.map(line),
  ].join("\n");
}

export function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join("\n");
}

const NONE = "–";

/** A large number with separators, such as `31,204`. */
export function count(value: number | undefined): string {
  return value === undefined ? NONE : Math.round(value).toLocaleString("en-US");
}

/** About three significant digits, such as `32.1`, `0.85` or `0.012`. */
export function decimal(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return NONE;
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
}

/** `0.98` → `98 %`. */
export function percent(value: number | undefined): string {
  return value === undefined ? NONE : `${Math.round(value * 100)} %`;
}

/** Bytes as `812 B`, `2.6 kB` or `1.3 MB` (decimal prefixes). */
export function size(bytes: number | undefined): string {
  if (bytes === undefined) return NONE;
  if (bytes < 1_000) return `${Math.round(bytes)} B`;
  if (bytes < 1_000_000) return `${decimal(bytes / 1_000)} kB`;
  return `${decimal(bytes / 1_000_000)} MB`;
}
