// The text of a file as YAML 1.2, which includes JSON.
import {
  type Document,
  isNode,
  isScalar,
  type LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLError,
} from "yaml";
import { yamlSizeProblem } from "../files/yaml-size.ts";
import { shown } from "./problem.ts";

/** Records a problem at an offset of the text. */
export type Report = (offset: number, key: string, reason: string) => void;

/** One `key: value`. */
export interface SourceEntry {
  readonly key: string;
  /** Position of the key. */
  readonly offset: number;
  readonly node: Node | null;
}

/**
 * Parses a text. Only the first syntax error is reported, because it causes most of the others.
 *
 * @param lines filled with the line breaks of the text. @returns undefined: it is no YAML.
 */
export function parseSource(
  text: string,
  lines: LineCounter,
  report: Report,
): Document | undefined {
  const problem = yamlSizeProblem(text);
  if (problem !== undefined) {
    report(0, "", problem);
    return undefined;
  }
  // The package's own check for equal keys takes quadratic time; entriesOf does it instead.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const [first] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  if (first === undefined) return document;
  report(first.pos[0], "", syntaxReason(first));
  return undefined;
}

/** Entries of a mapping. Keys that are no text, and equal ones, are reported. */
export function entriesOf(pairs: readonly Pair[], report: Report): SourceEntry[] {
  const places = new Set<string>();
  const entries: SourceEntry[] = [];
  for (const { key: name, value } of pairs) {
    const offset = offsetOf(name);
    if (!isScalar(name) || typeof name.value === "object") {
      report(offset, "", "a key must be plain text");
      continue;
    }
    const key = typeof name.value === "string" ? name.value : (name.source ?? String(name.value));
    if (places.has(key)) report(offset, shown(key), "occurs a second time here");
    else entries.push({ key, offset, node: value as Node | null });
    places.add(key);
  }
  return entries;
}

export function offsetOf(node: unknown): number {
  return (isNode(node) && node.range?.[0]) || 0;
}

/** Reports whether a node has no value, as after `settings:`. */
export function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

/** Own descriptions: those of the package quote the text, which may contain a secret. */
const syntaxReasons: Partial<Record<YAMLError["code"], string>> = {
  ALIAS_PROPS: "an alias (*name) can't have an anchor or a tag",
  BAD_ALIAS: "the name of an anchor or alias is invalid; quote a text that begins with & or *",
  BAD_DQ_ESCAPE:
    "invalid escape sequence in double quotes; write \\\\ for a backslash, or use single quotes",
  BAD_INDENT: "the indentation is wrong here",
  BAD_SCALAR_START: "a text that begins with @, `, % or a similar sign needs quotes",
  BLOCK_AS_IMPLICIT_KEY:
    'there is a second ": " in this line, or the indentation is wrong; quote a text that has ": " in it',
  BLOCK_IN_FLOW: "a block is not allowed inside brackets or braces",
  DUPLICATE_KEY: "duplicate key",
  KEY_OVER_1024_CHARS: "this key is longer than 1,024 characters",
  MISSING_CHAR: "a closing quote, bracket or brace, a comma, a colon or a space is missing here",
  MULTILINE_IMPLICIT_KEY: 'this line has no ": " after its key',
  MULTIPLE_DOCS: "a second document begins here (---); only one is allowed",
  RESOURCE_EXHAUSTION: "lists and mappings are nested too deeply",
  TAB_AS_INDENT: "tabs are not allowed for indentation; use spaces",
  TAG_RESOLVE_FAILED: "YAML tags (!name) are not supported; quote a text that begins with !",
};

function syntaxReason({ code }: YAMLError): string {
  return `this is not YAML: ${syntaxReasons[code] ?? "unexpected content"}`;
}
