import { type Definition, definitionList, flagOf } from "./definition.ts";

/**
 * The text of `--help`, ending in a line feed.
 *
 * @param columns width of the terminal; 80 when it is not known. Values outside of 40 to 100 are
 *   clamped; a longer word stays whole.
 */
export function configurationHelp({
  columns = 80,
  commands = "",
}: {
  columns?: number | undefined;
  /** Lines about the commands, before the flags. */
  commands?: string;
} = {}): string {
  const width = Math.min(Math.max(Math.trunc(columns) || 80, 40), 100);
  const paragraphs = [
    "Usage: mooring [serve] [flags]",
    "Serves the settings and the driver catalogue of a storage-aggregation site over gRPC, gRPC-Web, Connect and REST.",
    "Each flag has a variable of the same name (--listen is MOORING_LISTEN). A flag overrides its variable, and an empty variable counts as unset.",
  ].map((paragraph) => wrap(paragraph, { width }));
  if (commands !== "")
    paragraphs.splice(
      2,
      0,
      `Commands (mooring COMMAND --help):\n\n${commands}`,
      "Flags of the service:",
    );
  const entries = definitionList.map((definition) => helpEntry(definition, width));
  const rest = [
    "  --help, -h",
    "      Shows this text.",
    "  --version",
    "      Shows the version.",
  ];
  return `${[...paragraphs, entries.join("\n"), rest.join("\n")].join("\n\n")}\n`;
}

function helpEntry(definition: Definition, width: number): string {
  const fallback = definition.default ?? definition.otherwise;
  const text =
    fallback === undefined ? explain(definition) : `${explain(definition)} [default: ${fallback}]`;
  return [
    `  ${flagOf(definition)} ${definition.placeholder}`,
    wrap(text.replaceAll("`", ""), { width, indent: "      " }),
  ].join("\n");
}

/** Default in the documentation of a variable without one. */
export const NO_DEFAULT = "none";

/** Warning that the help of each secret variable ends with. */
export const SECRET_HELP =
  " A process list shows the values of flags: prefer `{variable}` or `{variable}_FILE`.";

/**
 * Explanation of a variable in sentences, for the help and the documentation.
 *
 * @param translate language of the sentences; English when absent.
 */
export function explain(
  { help, secret, variable }: Definition,
  translate = (text: string): string => text,
): string {
  const warning = secret ? translate(SECRET_HELP).replaceAll("{variable}", variable) : "";
  return translate(help) + warning;
}

/** Breaks a paragraph between words; a word that is longer than a line stays whole. */
function wrap(text: string, { width, indent = "" }: { width: number; indent?: string }): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && indent.length + line.length + 1 + word.length > width) {
      lines.push(indent + line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, indent + line].join("\n");
}
