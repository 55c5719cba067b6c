import type { SettingDefinition } from "../../src/settings/definition.ts";

const FLAGS = ["public", "private", "readonly"];
/** Characters of a default that the table shows. */
const SHOWN = 48;

/** The table of docs/settings.md: a section for each group, in the order of their first setting. */
export function settingsTable(definitions: readonly SettingDefinition[]): string {
  const groups = Map.groupBy(definitions, ({ group }) => group);
  return [...groups].map(([group, members]) => section(group, members)).join("\n\n");
}

function section(group: number, members: readonly SettingDefinition[]): string {
  return [
    `### ${members[0]?.groupLabel} (${group})`,
    "",
    "| key | value | default | flag | what it is |",
    "|---|---|---|---|---|",
    ...members.map(row),
  ].join("\n");
}

function row(definition: SettingDefinition): string {
  const { key, flag, description, secret, families } = definition;
  const [only] = families.length === 1 ? families : [];
  const cells = [
    `\`${key}\``,
    formOf(definition),
    shown(definition.default),
    [FLAGS[flag], secret && "secret", only && `${only} only`].filter(Boolean).join(", "),
    escaped(description),
  ];
  return `| ${cells.join(" | ")} |`;
}

function formOf(definition: SettingDefinition): string {
  const { type, options, format, decimal, min, max, unit } = definition;
  if (type === "select" && options === "") return "select of the site's own options";
  if (type === "select")
    return options
      .split(",")
      .map((option) => `\`${option}\``)
      .join(", ");
  const parts = [
    decimal ? "number with fraction" : type,
    format && `\`${format}\``,
    bounds(min, max),
    unit,
  ];
  return parts.filter((part) => part !== undefined).join(", ");
}

function bounds(min: number | undefined, max: number | undefined): string | undefined {
  if (min === undefined) return undefined;
  return max === undefined ? `≥ ${min}` : `${min} to ${max}`;
}

function shown(text: string): string {
  if (text === "") return "empty";
  const line = text.replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  const characters = [...line];
  return characters.length > SHOWN
    ? `\`${escaped(characters.slice(0, SHOWN).join(""))}\` …`
    : `\`${escaped(line)}\``;
}

function escaped(text: string): string {
  return text.replaceAll("|", "\\|");
}
