import type { Translate } from "./language.ts";
import { MESSAGES, type MessageId } from "./table.ts";

/** Value in a message: unchanged, or a message in the language of the outer one. */
export type Parameter = string | number | Message;

/** Names of the parameters in a text: `"{name} has {count}"` has `name` and `count`. */
type NamesIn<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** Parameters of a message. `field` can be added later, by the code that has the field's path. */
type ParametersOf<Id extends MessageId> = {
  readonly [Name in Exclude<NamesIn<(typeof MESSAGES)[Id]>, "field">]: Parameter;
} & { readonly field?: string };

/**
 * Message for people as data: an id of the table with parameters. It becomes an English sentence in
 * logs (`toString`), `{"id", "parameters"}` in JSON, and a sentence in the client's language in
 * replies.
 */
export class Message {
  readonly id: MessageId;
  readonly parameters: Readonly<Record<string, Parameter>>;

  /**
   * @param parameters texts of more than 1,000 characters are truncated, and halves of characters, such
   *   as those at a cut, are replaced.
   */
  constructor(id: MessageId, parameters: Readonly<Record<string, Parameter>>) {
    this.id = id;
    this.parameters = Object.values(parameters).some(isUnfit)
      ? Object.fromEntries(
          Object.entries(parameters).map(([name, value]) => [name, shortened(value)]),
        )
      : parameters;
  }

  /** Copy of the message with additional parameters. */
  with(parameters: Readonly<Record<string, Parameter>>): Message {
    return new Message(this.id, { ...this.parameters, ...parameters });
  }

  /** Innermost message: the problem without its location. */
  get problem(): Message {
    const { problem } = this.parameters;
    return problem instanceof Message ? problem.problem : this;
  }

  in(translate: Translate): string {
    return translate(MESSAGES[this.id]).replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = this.parameters[name];
      return value instanceof Message ? value.in(translate) : String(value ?? name);
    });
  }

  toString(): string {
    return this.in((text) => text);
  }
}

/** Maximum length of a text parameter, in characters. */
const MAX_PARAMETER = 1_000;

function isUnfit(value: Parameter): value is string {
  return typeof value === "string" && (value.length > MAX_PARAMETER || !value.isWellFormed());
}

function shortened(value: Parameter): Parameter {
  if (!isUnfit(value)) return value;
  const end = value.length > MAX_PARAMETER ? "…" : "";
  return `${value.slice(0, MAX_PARAMETER).toWellFormed()}${end}`;
}

/** Creates a message; every parameter of its text is required. */
export function message<Id extends MessageId>(
  id: Id,
  ...[parameters]: Exclude<NamesIn<(typeof MESSAGES)[Id]>, "field"> extends never
    ? [{ readonly field?: string }?]
    : [ParametersOf<Id>]
): Message {
  return new Message(id, (parameters ?? {}) as Readonly<Record<string, Parameter>>);
}

/** Message, or text of another program, such as a site, which has no translation. */
export type Text = string | Message;

/** Problem prefixed with the path of its field: "mounts[0].name must have …". */
export function problemAt(field: string, problem: Text): Text {
  if (typeof problem === "string") return `${field} ${problem}`;
  const namesField = (MESSAGES[problem.id] as string).includes("{field}");
  return namesField ? problem.with({ field }) : message("AT_FIELD", { field, problem });
}

/** Joins texts; empty ones are left out. */
export function joinTexts(texts: readonly Text[]): Text {
  const [first = "", ...rest] = texts.filter((text) => text !== "");
  return rest.reduce((all, text) => message("NOTES", { first: all, second: text }), first);
}

/** Translates a text; text of another program is not changed. */
export function textIn(text: Text, translate: Translate): string {
  return typeof text === "string" ? text : text.in(translate);
}

/**
 * Reviver of `JSON.parse` for documents with messages. Texts of earlier versions stay plain
 * strings.
 */
export function reviveText(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { id, parameters } = value as { id?: unknown; parameters?: unknown };
  const isMessage = typeof id === "string" && Object.hasOwn(MESSAGES, id);
  if (!isMessage || typeof parameters !== "object" || parameters === null) return value;
  return new Message(id as MessageId, parameters as Readonly<Record<string, Parameter>>);
}

/** Converts a text for a database column: a message is stored as JSON. */
export function textToColumn(text: Text): string {
  return typeof text === "string" ? text : JSON.stringify(text);
}

/** Reverts {@link textToColumn}; other text is not changed. */
export function textFromColumn(stored: string): Text {
  if (!stored.startsWith('{"id":')) return stored;
  try {
    const value: unknown = JSON.parse(stored, reviveText);
    return value instanceof Message ? value : stored;
  } catch {
    return stored;
  }
}

/** Text as HTML, for elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (unit) => `&#${unit.charCodeAt(0)};`);
}
