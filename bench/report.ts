import { type Finding, reached, type Target, type Verdict } from "./finding.ts";
import { decimal } from "./format.ts";
import type { Head } from "./machine.ts";

/** The head of the report, for people. */
export function headText({ time, command, machine, disk, versions }: Head): string {
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [`${time}  ${command}`, machine, disk, list.join(", "), ""].join("\n");
}

/** One finding as a table with its verdicts, for people. */
export function findingText(finding: Finding): string {
  const { name, title, load, columns, rows, verdicts, notes } = finding;
  return [
    `${name}: ${title}`,
    `  ${load}`,
    ...table([columns, ...rows]).map((line) => `  ${line}`),
    ...verdicts.map((verdict) => `  → ${verdictText(verdict)}`),
    ...notes.map((note) => `  (${note})`),
    "",
  ].join("\n");
}

/** How many targets were reached, and which were not. */
export function summaryText(findings: readonly Finding[]): string {
  const judged = findings.flatMap(({ name, verdicts }) =>
    verdicts.filter(({ target }) => target !== undefined).map((verdict) => ({ name, verdict })),
  );
  const missed = judged.filter(({ verdict }) => reached(verdict) === false);
  return [
    `${judged.length - missed.length} of ${judged.length} targets reached`,
    ...missed.map(({ name, verdict }) => `  ${name}: ${verdictText(verdict)}`),
    "",
  ].join("\n");
}

/** `Mooring against node:http, requests per second: 0.82× (0.80 to 0.84), to reach ≥ 0.80: reached`. */
export function verdictText(verdict: Verdict): string {
  const { target } = verdict;
  const judgement = target === undefined ? "" : `, ${targetText(target)}: ${outcomeText(verdict)}`;
  return `${verdict.text}: ${figureText(verdict)}${judgement}`;
}

/** `0.82× (0.80 to 0.84)`. */
export function figureText({ value, unit, lowest, highest }: Verdict): string {
  const known = lowest !== undefined && highest !== undefined;
  const range = known ? ` (${decimal(lowest)} to ${decimal(highest)})` : "";
  return `${decimal(value)}${unit}${range}`;
}

/** `to reach ≥ 0.80` or `to stay ≤ 150`. */
export function targetText(target: Target): string {
  return target.atLeast !== undefined
    ? `to reach ≥ ${decimal(target.atLeast)}`
    : `to stay ≤ ${decimal(target.atMost)}`;
}

/** Reached, or how far away: the factor that is lacking. */
export function outcomeText(verdict: Verdict): string {
  if (reached(verdict) === true) return "reached";
  const { value, target } = verdict;
  if (target === undefined) return "";
  const factor = target.atLeast !== undefined ? target.atLeast / value : value / target.atMost;
  return `NOT reached, ${decimal(factor)}× away`;
}

/** Lines with columns of one width; the first column leans left, the others right. */
function table(rows: readonly (readonly string[])[]): string[] {
  const [first = []] = rows;
  const widths = first.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("   ")
      .trimEnd(),
  );
}
