/** One segment of a path template: a text, `*` (any one segment) or `**` (all that follow). */
export type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "one" }
  | { readonly kind: "rest" };

/** A variable of a path template and the segments that it captures. */
export interface PathVariable {
  /** The field path between the braces, such as `name` or `item.id`. */
  readonly field: string;
  /** Index of the first captured segment. */
  readonly start: number;
  /** Number of captured segments; undefined: all from `start`, none included. */
  readonly count: number | undefined;
  /** Captured text may hold slashes; then `%2F` in the path stays as it is. */
  readonly multiple: boolean;
}

/** A parsed path template in the grammar of google/api/http.proto. */
export interface PathTemplate {
  readonly source: string;
  readonly segments: readonly Segment[];
  readonly variables: readonly PathVariable[];
  /** Text after the last colon; empty when there is none. */
  readonly verb: string;
}

/** Why a template can't be used. The caller adds which rpc it belongs to. */
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
 * @throws PathTemplateError that says what is wrong and at which character.
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

/** The text that two templates share exactly when they match the same paths. */
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
  reader.position++;
  const captured = reader.segments.slice(start);
  const endless = captured.at(-1)?.kind === "rest";
  reader.variables.push({
    field,
    start,
    count: endless ? undefined : captured.length,
    multiple: endless || captured.length > 1,
  });
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

function checkRest(reader: Reader): void {
  const first = reader.segments.findIndex((segment) => segment.kind === "rest");
  if (first >= 0 && first < reader.segments.length - 1) {
    throw new PathTemplateError(`"${reader.source}": ** must be the last segment`);
  }
}

function refuse(reader: Reader, reason: string): never {
  throw new PathTemplateError(
    `"${reader.source}": ${reason} at character ${reader.position + 1}; ` +
      "supported are /text, {field}, {field=*}, {field=text/*}, ** at the end and :verb",
  );
}
