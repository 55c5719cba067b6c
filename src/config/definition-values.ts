import { type Definition, definitions } from "./definition.ts";
import { quote } from "./quote.ts";
import { configNames, type Texts } from "./source.ts";
import type { ParseContext, Parsed } from "./value.ts";

type ValueOf<D> = D extends { parse(...args: never): Parsed<infer T> }
  ? D extends { default: string }
    ? T
    : T | undefined
  : never;

/** What the definitions' parsers give; undefined where nothing is given and nothing is default. */
export type Values = { readonly [N in keyof typeof definitions]: ValueOf<(typeof definitions)[N]> };

/** Parses what was given, or else the default, of every definition; each problem is one line. */
export function parseTexts(
  texts: Texts,
  context: ParseContext,
): { values: Partial<Values>; problems: string[] } {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const name of configNames) {
    const definition: Definition = definitions[name];
    const { source, text } = texts.get(name) ?? {
      source: definition.variable,
      text: definition.default,
    };
    if (text === undefined) continue;
    const parsed = parseText(text, definition, context);
    if ("value" in parsed) values[name] = parsed.value;
    else problems.push(`${source}${shown(text, definition)} ${parsed.complaint}`);
  }
  // Each value comes from the parser of its own definition.
  return { values: values as Partial<Values>, problems };
}

/** No value is longer; Linux has about twice this as its own limit for one variable. */
const maxValueLength = 65_536;

function parseText(text: string, { parse }: Definition, context: ParseContext): Parsed<unknown> {
  return text.length > maxValueLength
    ? { complaint: `is longer than ${maxValueLength} characters` }
    : parse(text, context);
}

function shown(text: string, { secret, show }: Definition): string {
  return secret ? "" : ` ${quote(show === undefined ? text : show(text))}`;
}
