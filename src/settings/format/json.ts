import { isObject } from "../../files/json-source.ts";
import { type Format, quoted } from "./format.ts";
import { checkRegex } from "./regex.ts";

/** Arrays and objects in one another at most. */
const MAX_DEPTH = 32;

/** A JSON object with any members. */
export const jsonObject: Format = jsonFormat((value) =>
  isObject(value) ? undefined : `must be a JSON object, not ${kindOf(value)}`,
);

/** A JSON object of text to text, without an empty name: replacing "" would hit every place. */
export const stringMap: Format = jsonFormat((value) => {
  if (!isObject(value)) return `must be a JSON object of text to text, not ${kindOf(value)}`;
  for (const [name, member] of Object.entries(value)) {
    if (name === "") return "must not have a member with an empty name";
    if (typeof member !== "string")
      return `must be a JSON object of text to text, but ${quoted(name)} is ${kindOf(member)}`;
  }
  return undefined;
});

/**
 * Viewers for files: a JSON object of extensions (separated by commas, or `/pattern/flags`), each
 * with an object of viewer name and address (docs/rest-contract.md, section 2.5). Empty text: none.
 */
export const previews: Format = jsonFormat(checkPreviews, { empty: true });

/** Buckets: a JSON array of objects with text members `name` and `path`. */
export const buckets: Format = jsonFormat((value) => {
  if (!Array.isArray(value)) return `must be a JSON array of buckets, not ${kindOf(value)}`;
  const wrong = value.findIndex((bucket) => !isBucket(bucket));
  return wrong < 0
    ? undefined
    : `must be a JSON array of objects with name and path, both text; number ${wrong + 1} is not`;
});

function jsonFormat(
  checkShape: (value: unknown) => string | undefined,
  { empty = false } = {},
): Format {
  return {
    check: (text) => (empty && text === "" ? undefined : checkJson(text, checkShape)),
    quotes: true,
  };
}

function checkJson(
  text: string,
  checkShape: (value: unknown) => string | undefined,
): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return `must be JSON: ${reasonOf(error)}`;
  }
  return isTooDeep(value, MAX_DEPTH)
    ? `must not have more than ${MAX_DEPTH} arrays and objects in one another`
    : checkShape(value);
}

function checkPreviews(value: unknown): string | undefined {
  if (!isObject(value))
    return `must be a JSON object of file extensions to viewers, not ${kindOf(value)}`;
  for (const [extensions, viewers] of Object.entries(value)) {
    const problem = checkExtensions(extensions) ?? checkViewers(viewers);
    if (problem !== undefined) return `the entry for ${quoted(extensions)} ${problem}`;
  }
  return undefined;
}

function checkExtensions(extensions: string): string | undefined {
  if (extensions === "") return "must name file extensions, such as pdf or doc,docx";
  return extensions.startsWith("/") ? checkRegex(extensions) : undefined;
}

function checkViewers(viewers: unknown): string | undefined {
  if (!isObject(viewers))
    return `must be an object of viewer name to address, not ${kindOf(viewers)}`;
  const wrong = Object.entries(viewers).find(
    ([, address]) => typeof address !== "string" || address.trim() === "",
  );
  return wrong && `must give the address of ${quoted(wrong[0])} as text, not ${kindOf(wrong[1])}`;
}

function isBucket(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { name, path } = value;
  return typeof name === "string" && typeof path === "string";
}

/** Whether arrays and objects lie deeper than so many in one another. */
function isTooDeep(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((part) => isTooDeep(part, depth - 1));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (value === "") return "empty text";
  return (
    { string: "text", number: "a number", boolean: "true or false" }[String(typeof value)] ?? ""
  );
}

/** The parser's reason with line and column where it tells them, without the text it read. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  return message
    .replace(/, (?:\.\.\.)?".*is not valid JSON$/s, "")
    .replace(/ in JSON at position \d+/, "")
    .replace(/ JSON input$/, "");
}
