import { badRequest } from "./fault.ts";
import type { PathTemplate, PathVariable, Segment } from "./path-template.ts";

/** A request path, cut at its slashes. */
export interface PathParts {
  /** Segments as they came. */
  readonly raw: readonly string[];
  /** Segments unescaped; undefined where the escapes are broken. */
  readonly text: readonly (string | undefined)[];
}

/** Cuts a path that begins with a slash. */
export function splitPath(path: string): PathParts {
  const raw = path === "/" ? [] : path.slice(1).split("/");
  return { raw, text: raw.map(unescapeText) };
}

/**
 * Cuts the verb off a path's last segment: `{ raw: ["a", "b:cancel"] }` gives `["a", "b"]` for the
 * verb `cancel`, undefined for any other.
 */
export function withoutVerb(parts: PathParts, verb: string): PathParts | undefined {
  if (verb === "") return parts;
  const last = parts.raw.at(-1);
  const colon = last?.lastIndexOf(":") ?? -1;
  if (last === undefined || colon < 0 || unescapeText(last.slice(colon + 1)) !== verb)
    return undefined;
  const head = last.slice(0, colon);
  return {
    raw: [...parts.raw.slice(0, -1), head],
    text: [...parts.text.slice(0, -1), unescapeText(head)],
  };
}

/** Whether a path without its verb fits the segments of a template. */
export function matchesPath(segments: readonly Segment[], parts: PathParts): boolean {
  const endless = segments.at(-1)?.kind === "rest";
  const fixed = endless ? segments.length - 1 : segments.length;
  if (endless ? parts.raw.length < fixed : parts.raw.length !== fixed) return false;
  return segments.every((segment, index) => matchesSegment(segment, index, parts));
}

/**
 * The text of each variable, in the template's order. Escapes are resolved; `%2F` stays in a
 * variable that spans several segments (google/api/http.proto, "Path template syntax").
 *
 * @throws INVALID_ARGUMENT when an escape is broken.
 */
export function captureVariables(template: PathTemplate, parts: PathParts): string[] {
  return template.variables.map((variable) => capture(variable, parts));
}

function matchesSegment(segment: Segment, index: number, parts: PathParts): boolean {
  if (segment.kind === "rest") return true;
  if (segment.kind === "one") return parts.raw[index] !== "";
  return parts.text[index] === segment.text;
}

function capture(variable: PathVariable, parts: PathParts): string {
  const end = variable.count === undefined ? undefined : variable.start + variable.count;
  const raw = parts.raw.slice(variable.start, end);
  const texts = raw.map((part) =>
    variable.multiple ? unescapeAllButSlash(part) : unescapeText(part),
  );
  if (texts.includes(undefined)) {
    throw badRequest(`path: "${variable.field}" holds a broken % escape`);
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
