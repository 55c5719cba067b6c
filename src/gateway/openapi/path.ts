import type { PathTemplate, PathVariable, Segment } from "../rest/path.ts";
import { Names } from "./name.ts";

/** A wildcard segment of a template, which is a parameter of the document's path. */
export interface PathParameter {
  readonly name: string;
  /** The field of the variable that the segment belongs to; undefined: the segment fills no field. */
  readonly field: string | undefined;
  // `*/` would end a comment of the other kind.
  // Pattern of the variable if it has further segments, such as `shelves/*/books/*`.
  readonly pattern: string | undefined;
  /** The parameter may have several segments. */
  readonly multiple: boolean;
}

// The parameters of a template, one for each wildcard segment: OpenAPI has no variables of several
// segments. In `{name=shelves/*/books/*}` a segment is named after the collection before it: `shelf`
// and `book`.
export function pathParameters(template: PathTemplate): readonly PathParameter[] {
  const { segments, variables } = template;
  const names = new Names();
  return segments.flatMap((segment, index): PathParameter[] => {
    if (segment.kind === "literal") return [];
    const variable = variables.find(({ start, end }) => start <= index && index < end);
    const isAlone = variable === undefined || variable.end - variable.start === 1;
    const before = !isAlone && index > variable.start ? segments[index - 1] : undefined;
    const element = before?.kind === "literal" ? singular(before.text) : "";
    return [
      {
        name: names.take(element || (variable?.field ?? "segment")),
        field: variable?.field,
        pattern: isAlone ? undefined : patternOf(template, variable),
        multiple: segment.kind === "rest",
      },
    ];
  });
}

/** The path of a document with these names of its parameters, such as `/v1/shelves/{shelf}:list`. */
export function documentPath(template: PathTemplate, names: readonly string[]): string {
  let next = 0;
  const parts = template.segments.map((segment) =>
    segment.kind === "literal" ? literal(segment.text) : `{${names[next++]}}`,
  );
  return `/${parts.join("/")}${template.verb && `:${literal(template.verb)}`}`;
}

/** Equal for templates whose paths differ in the names of parameters only: OpenAPI has one of them. */
export function hierarchyOf(template: PathTemplate): string {
  return documentPath(
    template,
    template.segments.map(() => ""),
  );
}

/** A segment's text with the characters that RFC 3986, section 3.3, permits, except for a colon. */
function literal(text: string): string {
  return encodeURIComponent(text).replace(/%(?:24|26|2B|2C|3B|3D|40)/g, decodeURIComponent);
}

function patternOf({ segments }: PathTemplate, { start, end }: PathVariable): string {
  return segments.slice(start, end).map(patternText).join("/");
}

function patternText(segment: Segment): string {
  if (segment.kind === "literal") return segment.text;
  return segment.kind === "one" ? "*" : "**";
}

/** The name of an element of a collection: `shelves` gives `shelf`. */
function singular(collection: string): string {
  const word = collection.replace(/\W+/g, "_").replace(/^_+|_+$/g, "");
  for (const [ending, replacement] of SINGULARS)
    if (ending.test(word)) return word.replace(ending, replacement);
  return word;
}

/** The first ending that fits; a name without one stays. */
const SINGULARS: readonly (readonly [RegExp, string])[] = [
  [/(?:ss|us|is|series)$/, "$&"],
  [/ies$/, "y"],
  [/(?<=[eo]l|ea|al)ves$/, "f"],
  [/(?<=ss|sh|x|[^ao]ch|us)es$/, ""],
  [/s$/, ""],
];
