import { readFileSync } from "node:fs";
import type { Translate } from "./language.ts";

/** The messages of errors that are translated as they are, and what is said of all others by code. */
interface ErrorFile {
  /** Canonical code in lower case to a sentence; `{message}` stands for the English message. */
  readonly codes: Readonly<Record<string, string>>;
  /** Messages with `{names}` in the place of what differs; they begin with the longer of two alike. */
  readonly templates: readonly string[];
}

const DATA_FILE = new URL("../data/errors.json", import.meta.url);

function readErrorFile(): ErrorFile {
  return JSON.parse(readFileSync(DATA_FILE, "utf8")) as ErrorFile;
}

/** Every text of errors that has a translation. */
export function readErrorTexts(): string[] {
  const { codes, templates } = readErrorFile();
  return [...Object.values(codes), ...templates];
}

/**
 * Says in another language what an English message says.
 *
 * @param code the canonical code in lower case, such as `not_found`.
 */
export type TranslateError = (message: string, code: string) => string;

/** Longest message that is taken apart, in characters. */
const MAX_LENGTH = 2_000;

export function createErrorTranslation(translate: Translate): TranslateError {
  const { codes, templates } = readErrorFile();
  const forms = templates.map((template) => ({ template, pattern: patternOf(template) }));

  const whole = (message: string): string | undefined => {
    for (const { template, pattern } of forms) {
      const found = pattern.exec(message);
      if (found === null) continue;
      return fill(translate(template), (name) => {
        const part = found.groups?.[name] ?? "";
        return sentence(part) ?? part;
      });
    }
    return undefined;
  };
  /** A message, or what is said of a member after its name. */
  const sentence = (message: string): string | undefined => {
    const found = whole(message);
    if (found !== undefined) return found;
    const [, member, rest = ""] = /^([\w.[\]-]{1,255}): (.+)$/s.exec(message) ?? [];
    const said = member === undefined ? undefined : whole(rest);
    return said === undefined ? undefined : `${member}：${said}`;
  };
  return (message, code) =>
    (message.length > MAX_LENGTH ? undefined : sentence(message)) ??
    fill(translate(codes[code] ?? "{message}"), () => message);
}

function fill(template: string, value: (name: string) => string): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => value(name));
}

function patternOf(template: string): RegExp {
  const parts = template.split(/\{(\w+)\}/);
  const source = parts.map((part, at) =>
    at % 2 === 0 ? part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : `(?<${part}>.+?)`,
  );
  return new RegExp(`^${source.join("")}$`, "s");
}
