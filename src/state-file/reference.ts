import { resolve } from "node:path";
import { type ReadBoundedFile, textOf } from "../files/bounded-file.ts";

/** Maximum size of a referenced file, in bytes. */
export const MAX_FILE_BYTES = 64 * 1024;
/** Maximum length of a resolved value, in UTF-16 units. */
const MAX_VALUE = 64 * 1024;
/** Maximum number of files referenced by a file, and of their characters. */
const MAX_FILES = 4_000;
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * Matches `$${` for a literal `${`, a reference, or an unclosed reference with the rest of the
 * text, so that no character is read twice.
 */
const MARK = /\$\$\{|\$\{([^}]*)(\})?/g;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** A text with its references resolved. */
export interface Interpolated {
  readonly text: string;
  /** Texts from the environment or files, which may be secret. */
  readonly hidden: readonly string[];
}

export interface References {
  /** @throws Error with the problem, for display. It names the reference and quotes no value. */
  readonly resolve: (text: string) => Interpolated;
  /** Absolute paths of all files referenced so far, readable or not. */
  readonly files: () => readonly string[];
}

export interface ReferencesDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: ReadBoundedFile;
  /** Base folder of relative paths. */
  readonly folder: string;
}

/**
 * Resolves `${env:NAME}` (the environment variable, which must be set) and `${file:PATH}` (a text
 * file of at most 64 KiB, without trailing line breaks) in texts; `$${` is a literal `${`.
 * Everything else that begins with `${` is an error, so that a typing error does not become a
 * value.
 */
export function createReferences({ env, readFile, folder }: ReferencesDeps): References {
  const contents = new Map<string, string>();
  const referred = new Set<string>();
  let total = 0;

  const fromEnv = (name: string): string => {
    if (!ENV_NAME.test(name)) throw new Error(`\${env:…} needs the name of a variable`);
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined) throw new Error(`the environment variable ${name} is not set`);
    return value;
  };

  const fromFile = (name: string): string => {
    if (name.trim() === "") throw new Error(`\${file:…} needs the path of a file`);
    const path = resolve(folder, name);
    const known = contents.get(path);
    if (known !== undefined) return known;
    if (referred.size >= MAX_FILES && !referred.has(path))
      throw new Error(`more than ${MAX_FILES} files are referred to`);
    referred.add(path);
    const text = readText(readFile, path);
    total += text.length;
    if (total > MAX_CHARACTERS)
      throw new Error(`the referred files have more than ${MAX_CHARACTERS} characters together`);
    contents.set(path, text);
    return text;
  };

  const reference = (inside: string): string => {
    if (inside.startsWith("env:")) return fromEnv(inside.slice("env:".length));
    if (inside.startsWith("file:")) return fromFile(inside.slice("file:".length));
    throw new Error(
      `only \${env:NAME} and \${file:PATH} are known after a \${; write $\${ where \${ itself is meant`,
    );
  };

  return {
    files: () => [...referred],
    resolve: (text) => {
      const hidden: string[] = [];
      let length = text.length;
      const resolved = text.replace(MARK, (mark: string, inside = "", close?: string) => {
        if (mark === "$${") return "${";
        if (close === undefined)
          throw new Error(`a \${ is not closed by }; write $\${ where \${ itself is meant`);
        const value = reference(inside);
        length += value.length;
        if (length > MAX_VALUE + text.length)
          throw new Error(
            `with everything put in, the value has more than ${MAX_VALUE} characters`,
          );
        hidden.push(value);
        return value;
      });
      return { text: resolved, hidden };
    },
  };
}

function readText(readFile: ReadBoundedFile, path: string): string {
  try {
    return textOf(readFile(path, MAX_FILE_BYTES)).replace(/(?:\r?\n)+$/, "");
  } catch (error) {
    const reason = error instanceof Error ? error.message : "can't be read";
    throw new Error(`the file ${path} ${reason}`);
  }
}

/** Maximum length of a hidden text that may be shown, such as a number or "true", in characters. */
const SHOWN = 5;

/** Reports whether a message contains enough of a hidden text to reveal it. */
export function reveals(message: string, hidden: readonly string[]): boolean {
  return hidden.some((text) => {
    for (let at = 0; at + SHOWN < text.length; at += 1)
      if (message.includes(text.slice(at, at + SHOWN + 1))) return true;
    return text !== "" && text.length <= SHOWN && message.includes(JSON.stringify(text));
  });
}
