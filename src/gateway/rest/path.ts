import { BadRequest } from "../../transport/body.ts";

/** Segment of a path template: a text, `*` (any one segment) or `**` (any number of segments). */
export type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "one" }
  | { readonly kind: "rest" };

/** A variable of a path template and the segments that it captures. */
export interface PathVariable {
  /** The field path between the braces, such as `name` or `item.id`. */
  readonly field: string;
  /** Index of the first segment of the template that is captured. */
  readonly start: number;
  /** Index of the segment after the last one. */
  readonly end: number;
  /** Captured text may contain slashes; `%2F` in the path is then not unescaped. */
  readonly multiple: boolean;
}

/** A parsed path template in the grammar of google/api/http.proto. */
export interface PathTemplate {
  readonly source: string;
  readonly segments: readonly Segment[];
  readonly variables: readonly PathVariable[];
  /** Text after the last colon; empty without one. */
  readonly verb: string;
}

/** Reason for which a template is invalid. The caller adds its rpc. */
export class PathTemplateError extends Error {
  override readonly name = "PathTemplateError";
}

interface Reader {
  readonly source: string;
  position: number;
  readonly segments: Segment[];
  readonly variables: PathVariable[];
}

/**
 * Parses a template such as `/v1/{name=shelves/*}/books:list`.
 *
 * @throws PathTemplateError with the problem and the position.
 */
export function parsePathTemplate(source: string): PathTemplate {
  const reader: Reader = { source, position: 0, segments: [], variables: [] };
  if (source[0] !== "/") throw new PathTemplateError(`"${source}" must begin with a slash`);
  reader.position = 1;
  if (source.length > 1) readSegments(reader, false);
  const verb = readVerb(reader);
  if (reader.position < source.length) refuse(reader, "unexpected character");
  checkRest(reader);
  return { source, segments: reader.segments, variables: reader.variables, verb };
}

/** Canonical form of a template: equal for templates that match the same paths. */
export function templateShape(template: PathTemplate): string {
  const parts = template.segments.map((segment) =>
    segment.kind === "literal" ? encodeURIComponent(segment.text) : WILDCARD[segment.kind],
  );
  return `/${parts.join("/")}${template.verb && `:${template.verb}`}`;
}

const WILDCARD = { one: "*", rest: "**" } as const;

function readSegments(reader: Reader, inVariable: boolean): void {
  for (;;) {
    readSegment(reader, inVariable);
    if (reader.source[reader.position] !== "/") return;
    reader.position++;
  }
}

function readSegment(reader: Reader, inVariable: boolean): void {
  const { source, position } = reader;
  if (source.startsWith("**", position)) {
    reader.position += 2;
    reader.segments.push({ kind: "rest" });
  } else if (source[position] === "*") {
    reader.position++;
    reader.segments.push({ kind: "one" });
  } else if (source[position] === "{") {
    if (inVariable) refuse(reader, "a variable inside a variable");
    readVariable(reader);
  } else {
    reader.segments.push({ kind: "literal", text: readLiteral(reader) });
  }
}

function readVariable(reader: Reader): void {
  const start = reader.segments.length;
  reader.position++;
  const field = readMatch(reader, /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/y, "a field path");
  if (reader.source[reader.position] === "=") {
    reader.position++;
    readSegments(reader, true);
  } else {
    reader.segments.push({ kind: "one" });
  }
  if (reader.source[reader.position] !== "}") refuse(reader, "a variable must end with }");
  if (reader.variables.some((one) => one.field === field))
    refuse(reader, `{${field}} occurs twice, and would fill its field twice`);
  reader.position++;
  const captured = reader.segments.slice(start);
  const multiple = captured.length > 1 || captured.some(({ kind }) => kind === "rest");
  reader.variables.push({ field, start, end: reader.segments.length, multiple });
}

function readLiteral(reader: Reader): string {
  // The characters of a path segment in RFC 3986, section 3.3, but for * and the verb's colon.
  const text = readMatch(reader, /(?:[\w.~!$&'()+,;=@-]|%[0-9A-Fa-f]{2})+/y, "a path segment");
  try {
    return decodeURIComponent(text);
  } catch {
    throw new PathTemplateError(`"${reader.source}": "${text}" is not UTF-8 when unescaped`);
  }
}

function readVerb(reader: Reader): string {
  if (reader.source[reader.position] !== ":") return "";
  reader.position++;
  return readLiteral(reader);
}

function readMatch(reader: Reader, pattern: RegExp, wanted: string): string {
  pattern.lastIndex = reader.position;
  const text = pattern.exec(reader.source)?.[0];
  if (text === undefined) refuse(reader, `expected ${wanted}`);
  reader.position += text.length;
  return text;
}

function checkRest({ source, segments }: Reader): void {
  const count = segments.filter((segment) => segment.kind === "rest").length;
  if (count > 1) throw new PathTemplateError(`"${source}": ** may occur once in a template`);
}

function refuse(reader: Reader, reason: string): never {
  throw new PathTemplateError(
    `"${reader.source}": ${reason} at character ${reader.position + 1}; ` +
      "supported are /text, {field}, {field=*}, {field=text/*}, one ** and :verb",
  );
}

/** A request path, split at its slashes. */
export interface PathParts {
  /** Segments as received. */
  readonly raw: readonly string[];
  /** Segments unescaped; undefined if an escape is invalid. */
  readonly text: readonly (string | undefined)[];
}

/** Splits a path that begins with a slash. */
export function splitPath(path: string): PathParts {
  const raw = path === "/" ? [] : path.slice(1).split("/");
  return { raw, text: path.includes("%") ? raw.map(unescapeText) : raw };
}

/**
 * Separates the verb, the text after the last colon, from a path's last segment: `["a",
 * "b:cancel"]` gives `["a", "b"]` and `cancel`. Undefined for a last segment without a colon, or a
 * verb with an invalid escape.
 */
export function cutVerb(parts: PathParts): { parts: PathParts; verb: string } | undefined {
  const last = parts.raw.at(-1);
  const colon = last?.lastIndexOf(":") ?? -1;
  if (last === undefined || colon < 0) return undefined;
  const verb = unescapeText(last.slice(colon + 1));
  if (verb === undefined || verb === "") return undefined;
  const head = last.slice(0, colon);
  return {
    verb,
    parts: {
      raw: [...parts.raw.slice(0, -1), head],
      text: [...parts.text.slice(0, -1), unescapeText(head)],
    },
  };
}

/** Reports whether two texts are the same, or become the same. */
export function isSame(one: string, other: string, fold?: (text: string) => string): boolean {
  return one === other || (fold !== undefined && fold(one) === fold(other));
}

/**
 * Reports whether a path without its verb matches the segments of a template.
 *
 * @param fold makes literal texts that are not distinguished equal. Default: all are distinguished.
 */
export function matchesPath(
  segments: readonly Segment[],
  parts: PathParts,
  fold?: (text: string) => string,
): boolean {
  const rest = restOf(segments);
  const more = parts.raw.length - segments.length;
  if (rest < 0 ? more !== 0 : more < -1) return false;
  return segments.every(
    (segment, index) =>
      segment.kind === "rest" ||
      matchesSegment(segment, rest >= 0 && index > rest ? index + more : index, parts, fold),
  );
}

function restOf(segments: readonly Segment[]): number {
  return segments.findIndex((segment) => segment.kind === "rest");
}

/**
 * The text of each variable, in the template's order. Escapes are resolved; `%2F` stays in a
 * variable that spans several segments (google/api/http.proto, "Path template syntax").
 *
 * @throws INVALID_ARGUMENT when an escape is broken.
 */
export function captureVariables(template: PathTemplate, parts: PathParts): string[] {
  const rest = restOf(template.segments);
  const more = parts.raw.length - template.segments.length;
  // Position in the path of an index of the template: ** takes all remaining segments.
  const placeOf = (index: number): number => (rest >= 0 && index > rest ? index + more : index);
  return template.variables.map((variable) =>
    capture(variable, parts.raw, placeOf(variable.start), placeOf(variable.end)),
  );
}

function matchesSegment(
  segment: Segment,
  index: number,
  parts: PathParts,
  fold?: (text: string) => string,
): boolean {
  if (segment.kind === "literal") {
    const text = parts.text[index];
    return text !== undefined && isSame(text, segment.text, fold);
  }
  return parts.raw[index] !== "";
}

function capture(
  variable: PathVariable,
  raw: readonly string[],
  start: number,
  end: number,
): string {
  const text = variable.multiple ? raw.slice(start, end).join("/") : (raw[start] ?? "");
  if (!text.includes("%")) return text;
  return unescapeVariable(variable, text);
}

function unescapeVariable(variable: PathVariable, text: string): string {
  const texts = variable.multiple ? text.split("/").map(unescapeAllButSlash) : [unescapeText(text)];
  if (texts.includes(undefined)) {
    throw new BadRequest("PATH_INVALID", `path: "${variable.field}" holds a broken % escape`);
  }
  return texts.join("/");
}

function unescapeAllButSlash(text: string): string | undefined {
  const parts = text.split(/(%2f)/i);
  const decoded = parts.map((part, index) => (index % 2 === 1 ? part : unescapeText(part)));
  return decoded.includes(undefined) ? undefined : decoded.join("");
}

function unescapeText(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
