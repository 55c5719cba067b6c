import { definitions } from "./definition.ts";
import { quote } from "./quote.ts";
import type { Texts } from "./source.ts";
import type { ParseContext, Parsed } from "./value.ts";

/** Reads a text file whole, in UTF-8; throws a system error such as `node:fs` does. */
export type ReadFile = (path: string) => string;

/** Each secret that may stand in a file instead, as container platforms mount them. */
const secretFiles = [
  ["adminToken", "adminTokenFile"],
  ["secretKey", "secretKeyFile"],
] as const;

/**
 * Puts each secret whose file was named in the file's place among the texts, without the white
 * space around it. What it returns are problems, none with a word of a file's content.
 */
export function readSecretFiles(
  texts: Texts,
  { context, readFile }: { context: ParseContext; readFile: ReadFile },
): string[] {
  const problems: string[] = [];
  for (const [name, fileName] of secretFiles) {
    const file = texts.get(fileName);
    const direct = texts.get(name);
    if (file === undefined) continue;
    texts.delete(fileName);
    const shown = `${file.source} ${quote(file.text)}`;
    if (direct !== undefined) {
      problems.push(`${direct.source} and ${file.source} are both given: keep one of them`);
      continue;
    }
    const content = contentOf(definitions[fileName].parse(file.text, context), readFile);
    if ("complaint" in content) problems.push(`${shown} ${content.complaint}`);
    else texts.set(name, { source: `${shown}: the content`, text: content.value });
  }
  return problems;
}

const maxLength = 4096;

function contentOf(path: Parsed<string>, readFile: ReadFile): Parsed<string> {
  if ("complaint" in path) {
    return path;
  }
  let content: string;
  try {
    content = readFile(path.value);
  } catch (cause) {
    return { complaint: `can't be read: ${reasonOf(cause)}` };
  }
  if (content.length > maxLength) {
    return { complaint: `holds more than ${maxLength} characters: is it the right file?` };
  }
  const text = content.trim();
  return text === "" ? { complaint: "is empty" } : { value: text };
}

/** System errors that people meet, in words. */
const reasons = new Map([
  ["ENOENT", "there is no such file"],
  ["ENOTDIR", "a part of the path is no folder"],
  ["EACCES", "this user may not read it"],
  ["EPERM", "this user may not read it"],
  ["EISDIR", "it is a folder"],
]);

function reasonOf(cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
  return reasons.get(code) ?? code;
}
