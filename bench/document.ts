import { type Finding, reached } from "./finding.ts";
import type { Head } from "./machine.ts";
import { figureText, outcomeText, targetText, verdictText } from "./report.ts";

/** The results of a run stand between these lines of docs/performance.md. */
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
  head: Head,
  findings: readonly Finding[],
  skipped: readonly string[],
): string {
  return [
    headMarkdown(head),
    "### Targets",
    targetTable(findings),
    ...findings.flatMap(findingMarkdown),
    ...(skipped.length === 0 ? [] : ["### Not measured", list(skipped)]),
  ].join("\n\n");
}

function headMarkdown({ time, command, machine, disk, versions }: Head): string {
  const names = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return list([`${time.slice(0, 10)}, \`${command}\``, machine, disk, names.join(", ")]);
}

function targetTable(findings: readonly Finding[]): string {
  const rows = findings.flatMap(({ name, verdicts }) =>
    verdicts.flatMap((verdict) => {
      const { text, target } = verdict;
      if (target === undefined) return [];
      const outcome = outcomeText(verdict);
      return [
        [
          `${name}: ${text}`,
          figureText(verdict),
          targetText(target),
          reached(verdict) === true ? outcome : `**${outcome}**`,
        ],
      ];
    }),
  );
  return markdownTable([["what", "figure", "target", "outcome"], ...rows]);
}

function findingMarkdown({ name, title, load, columns, rows, verdicts, notes }: Finding): string[] {
  const untargeted = verdicts.filter(({ target }) => target === undefined).map(verdictText);
  const remarks = [...untargeted, ...notes];
  return [
    `### ${name}: ${title}`,
    `Load: ${load}.`,
    markdownTable([columns, ...rows]),
    ...(remarks.length === 0 ? [] : [list(remarks)]),
  ];
}

function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [
    line(head),
    line(head.map((_, at) => (at === 0 ? "---" : "---:"))),
    ...rows.map(line),
  ].join("\n");
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join("\n");
}
