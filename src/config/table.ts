import { type Definition, definitionList, flagOf } from "./definition.ts";
import { explain } from "./help.ts";

/** The configuration as a Markdown table, for the README; no line feed at its end. */
export function configurationTable(): string {
  return [
    "| Variable | Flag | Default | Meaning |",
    "| --- | --- | --- | --- |",
    ...definitionList.map(row),
  ].join("\n");
}

function row(definition: Definition): string {
  const cells = [
    `\`${definition.variable}\``,
    `\`${flagOf(definition)} ${definition.placeholder}\``,
    definition.default === undefined
      ? (definition.otherwise ?? "none")
      : `\`${definition.default}\``,
    explain(definition).replaceAll("|", "\\|"),
  ];
  return `| ${cells.join(" | ")} |`;
}
