import { FAMILIES, type Family } from "../../src/config/family.ts";
import { escapeHtml } from "../../src/messages/message.ts";
import { FAMILY_NAMES, type Words } from "./words.ts";

/** Field of a form: an item of a driver, or a setting. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly description: string;
  /** Separated by commas. */
  readonly options: string;
  readonly optionLabels: readonly string[];
  readonly families: readonly Family[];
  readonly secret: boolean;
  readonly required?: boolean;
  /** Defaults of the families with the field. */
  readonly defaults?: Defaults;
  readonly unit?: string;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly showWhen?: string;
  /** Further facts, as HTML. */
  readonly marks?: readonly string[];
}

type Defaults = Readonly<Record<Family, string | undefined>>;

/** @param of the default in a family; undefined: the family does not have the field. */
export function defaultsOf(of: (family: Family) => string | undefined): Defaults {
  return { openlist: of("openlist"), alist: of("alist") };
}

/**
 * Description of a field as an HTML block in Markdown, which must not have empty lines.
 *
 * @param among families of the form: a field of only some of them says so.
 */
export function fieldHtml(field: Field, words: Words, among: readonly Family[]): string {
  const { name, label, description, options, optionLabels, showWhen = "" } = field;
  const facts = factsOf(field, words, among).map((fact) => `<span>${fact}</span>`);
  const named = options.split(",").map((option, at) => {
    const shown = option === "" ? words.empty : code(option);
    const text = optionLabels[at] ?? "";
    return text === "" || text === option ? shown : `${shown} ${escapeHtml(text)}`;
  });
  const about = (text: string): string => `<p class="options">${text}</p>`;
  return [
    heading(3, name, label),
    `<p class="facts">${facts.join("")}</p>`,
    `<p>${escapeHtml(description).replaceAll("\n", "<br>")}</p>`,
    ...(options === "" ? [] : [about(`${words.options}${words.colon}${named.join(", ")}`)]),
    ...(showWhen === "" ? [] : [about(`${words.onlyWhen} ${code(showWhen)}`)]),
  ].join("\n");
}

function factsOf(field: Field, words: Words, among: readonly Family[]): readonly string[] {
  const { name, type, min, max, unit = "", marks = [] } = field;
  const mark = (isSet: boolean | undefined, text: string): string =>
    isSet ? `<span class="mark">${text}</span>` : "";
  const kind = [
    words.types[type] ?? type,
    min === undefined ? "" : `${words.from} ${min}`,
    max === undefined ? "" : `${words.to} ${max}`,
    escapeHtml(unit),
  ];
  const only = field.families.length < among.length ? field.families : [];
  return [
    code(name),
    kind.filter((text) => text !== "").join(" "),
    mark(field.required, words.required),
    mark(field.secret, words.secret),
    ...defaultFacts(field, words),
    ...marks,
    ...only.map((family) => `${FAMILY_NAMES[family]} ${words.onlyIn}`),
  ].filter((fact) => fact !== "");
}

/** One default, or different defaults by family. */
function defaultFacts({ defaults }: Field, words: Words): readonly string[] {
  const known = FAMILIES.flatMap((family) => {
    const value = defaults?.[family];
    return value === undefined ? [] : [[FAMILY_NAMES[family], value] as const];
  });
  const shown = (value: string): string => (value === "" ? words.empty : code(oneLine(value)));
  const [first] = known;
  if (known.some(([, value]) => value !== first?.[1]))
    return known.map(([family, value]) => `${words.default} (${family}) ${shown(value)}`);
  return first === undefined || first[1] === "" ? [] : [`${words.default} ${shown(first[1])}`];
}

function oneLine(text: string): string {
  const line = text.replaceAll("\r", "").replaceAll("\n", "⏎");
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

export function heading(level: 2 | 3, id: string, text: string): string {
  return `<h${level} id="${id}">${escapeHtml(text)}</h${level}>`;
}

export function code(text: string): string {
  return `<code>${escapeHtml(text)}</code>`;
}
