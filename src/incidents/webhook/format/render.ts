import Mustache from "mustache";

/** Maximum length of a rendered text, in UTF-16 code units. */
const MAX_TEXT = 256 * 1024;
/** Maximum number of rendered parts: sections in sections repeat theirs for each item of a list. */
const MAX_PARTS = 20_000;

/**
 * Data of a template. Names are those of the data alone: neither the names that JavaScript gives to every
 * object, such as `constructor`, nor functions, which Mustache would call.
 */
class Data extends Mustache.Context {
  override push(view: unknown): Data {
    return new Data(view, this);
  }

  override lookup(name: string): unknown {
    if (name === ".") return this.view;
    const [first = "", ...rest] = name.split(".");
    for (let at: Mustache.Context | undefined = this; at !== undefined; at = at.parent) {
      if (ownValueOf(at.view, first) === undefined) continue;
      return [first, ...rest].reduce<unknown>(ownValueOf, at.view);
    }
    return undefined;
  }
}

function ownValueOf(data: unknown, name: string): unknown {
  if (typeof data !== "object" || data === null || !Object.hasOwn(data, name)) return undefined;
  const value = (data as Readonly<Record<string, unknown>>)[name];
  return typeof value === "function" ? undefined : value;
}

/** Writer of one text, which throws beyond its bounds. It keeps no templates, as the common one does. */
class BoundedWriter extends Mustache.Writer {
  #length = 0;
  #parts = 0;

  override renderTokens(...args: Parameters<Mustache.Writer["renderTokens"]>): string {
    const [tokens] = args;
    this.#parts += 1 + tokens.length;
    if (this.#parts > MAX_PARTS) throw tooLong();
    return super.renderTokens(...args);
  }

  override rawValue(token: string[]): string {
    return this.#counted(super.rawValue(token));
  }

  override escapedValue(...args: Parameters<Mustache.Writer["escapedValue"]>): string {
    return this.#counted(super.escapedValue(...args));
  }

  override unescapedValue(...args: Parameters<Mustache.Writer["unescapedValue"]>): string {
    return this.#counted(super.unescapedValue(...args));
  }

  /** @param value undefined: the data has no such name. */
  #counted(value: string | undefined): string {
    const text = value === undefined ? "" : String(value);
    this.#length += text.length;
    if (this.#length > MAX_TEXT) throw tooLong();
    return text;
  }
}

function tooLong(): Error {
  return new Error("the text of the template is too long");
}

/**
 * Renders a Mustache template.
 *
 * @param escapeValue of `{{name}}`.
 * @throws Error for a text of more than 256 KiB, or with too many repeated parts.
 */
export function renderTemplate(
  template: string,
  view: Readonly<Record<string, unknown>>,
  escapeValue: (value: unknown) => string,
): string {
  return new BoundedWriter().render(template, new Data(view), undefined, {
    escape: escapeValue,
  });
}
