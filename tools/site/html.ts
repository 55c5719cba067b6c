import type { Family } from "../../src/config/family.ts";
import { FAMILIES } from "../../src/config/family.ts";
import { escapeHtml } from "../../src/messages/message.ts";
import { FAMILY_NAMES, type Words } from "./words.ts";

/** Field of a form: an item of a driver, or a setting. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly description: string;
  readonly options: string;
  readonly optionLabels: readonly string[];
  readonly families: readonly Family[];
  readonly secret: boolean;
  readonly required?: boolean;
  /** Defaults of the families with the field. */
  readonly defaults: Readonly<Partial<Record<Family, string>>>;
  readonly unit?: string;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly showWhen?: string;
  /** Further facts, as HTML. */
  readonly marks?: readonly string[];
}

/** Disables Vue's directives: two braces in a text are text. */
const STATIC = "v-pre";

export function heading(level: 2 | 3, id: string, text: string): string {
  const link = `<a class="header-anchor" href="#${id}" aria-label="${escapeHtml(text)}">&#8203;</a>`;
  return `<h${level} id="${id}" tabindex="-1" ${STATIC}>${escapeHtml(text)} ${link}</h${level}>`;
}

export function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}

/** Description of a field as an HTML block in Markdown, which must not have empty lines. */
export function fieldHtml(field: Field, words: Words, among: readonly Family[]): string {
  const options = field.options === "" ? [] : field.options.split(",");
  const named = options.map((option, at) => {
    const label = field.optionLabels[at] ?? "";
    const shown = option === "" ? words.empty : code(option);
    return label === "" || label === option ? shown : `${shown} ${escapeHtml(label)}`;
  });
  return [
    heading(3, field.name, field.label),
    `<p class="facts" ${STATIC}>${factsOf(field, words, among)
      .map((fact) => `<span>${fact}</span>`)
      .join("")}</p>`,
    `<p ${STATIC}>${paragraph(field.description)}</p>`,
    ...(named.length === 0
      ? []
      : [`<p class="options" ${STATIC}>${words.options}${words.colon}${named.join(", ")}</p>`]),
    ...(field.showWhen === undefined || field.showWhen === ""
      ? []
      : [`<p class="options" ${STATIC}>${words.onlyWhen} ${code(field.showWhen)}</p>`]),
  ].join("\n");
}

function factsOf(field: Field, words: Words, among: readonly Family[]): string[] {
  const { type, min, max, unit = "", required = false, secret, marks = [] } = field;
  const bounds = [
    ...(min === undefined ? [] : [`${words.from} ${min}`]),
    ...(max === undefined ? [] : [`${words.to} ${max}`]),
  ];
  const only = field.families.length < among.length ? field.families : [];
  return [
    code(field.name),
    [words.types[type] ?? type, ...bounds, escapeHtml(unit)]
      .filter((text) => text !== "")
      .join(" "),
    ...(required ? [`<span class="mark">${words.required}</span>`] : []),
    ...(secret ? [`<span class="mark">${words.secret}</span>`] : []),
    ...defaultsOf(field, words),
    ...marks,
    ...only.map((family) => `${FAMILY_NAMES[family]} ${words.onlyIn}`),
  ];
}

/** One default, or different defaults by family. */
function defaultsOf({ defaults }: Field, words: Words): string[] {
  const shown = (value = ""): string => (value === "" ? words.empty : code(oneLine(value)));
  const known = FAMILIES.filter((family) => defaults[family] !== undefined);
  const values = new Set(known.map((family) => defaults[family]));
  if (values.size <= 1) {
    const [value = ""] = values;
    return value === "" ? [] : [`${words.default} ${shown(value)}`];
  }
  return known.map(
    (family) => `${words.default} (${FAMILY_NAMES[family]}) ${shown(defaults[family])}`,
  );
}

function oneLine(text: string): string {
  const line = text.replaceAll("\r", "").replaceAll("\n", "⏎");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

function paragraph(text: string): string {
  return escapeHtml(text).replaceAll("\n", "<br>");
}

/** Escapes a Markdown heading. */
export function title(text: string): string {
  return `# ${text.replace(/[\\`*_{}[\]<>#|~]/g, "\\$&")}`;
}
