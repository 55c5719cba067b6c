import {
  type Document,
  isMap,
  isNode,
  isScalar,
  type LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLError,
  type YAMLMap,
} from "yaml";
import { didYouMean } from "../../messages/nearest.ts";

/** Problem of a file of provisioned settings, for its author. */
export interface ProvisionProblem {
  /** Line and column count from 1; both are 0 for a problem of the whole file. */
  readonly line: number;
  readonly column: number;
  /** Key of the setting; empty for other problems. */
  readonly key: string;
  /** Description of the problem and its remedy. It never quotes a value that may be secret. */
  readonly reason: string;
}

/** Records a problem at an offset of the text. */
export type Report = (offset: number, key: string, reason: string) => void;

/** `path:line:column: key: reason`, which terminals and editors show as a link. */
export function problemText(path: string, { line, column, key, reason }: ProvisionProblem): string {
  const place = line === 0 ? path : `${path}:${line}:${column}`;
  return `${place}: ${key === "" ? "" : `${key}: `}${reason}`;
}

/** One `key: value` below `settings:`. */
export interface SourceEntry {
  readonly key: string;
  /** Position of the key. */
  readonly offset: number;
  readonly node: Node | null;
}

const FORM = 'the form is "settings:" with one indented "key: value" for each setting';

/**
 * Parses YAML 1.2, which includes JSON, down to the settings. All problems are reported, but only
 * the first syntax error, because it causes most of the others.
 *
 * @param lines - filled with the line breaks of the text.
 */
export function parseSource(
  text: string,
  lines: LineCounter,
  report: Report,
): SourceEntry[] | undefined {
  // The package's own check for equal keys takes quadratic time; entriesOf does it instead.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const errors = [...document.errors, ...document.warnings];
  if (errors.length > 0) {
    // One mistake causes many errors after it.
    const [first] = errors.sort((a, b) => a.pos[0] - b.pos[0]);
    if (first !== undefined) report(first.pos[0], "", syntaxReason(first));
    return undefined;
  }
  const settings = settingsOf(document, report);
  return settings && entriesOf(settings, report);
}

function settingsOf(document: Document, report: Report): readonly Pair[] | undefined {
  const root = document.contents;
  if (root === null || (isScalar(root) && root.value === null)) {
    report(0, "", `the file is empty: ${FORM}, or "settings: {}" for none`);
    return undefined;
  }
  if (!isMap(root)) {
    report(offsetOf(root), "", `this is not a mapping: ${FORM}`);
    return undefined;
  }
  const entries = entriesOf(root.items, report);
  const settings = entries.find(({ key }) => key === "settings");
  if (settings === undefined) {
    reportMissing(entries, offsetOf(root), report);
    return undefined;
  }
  for (const { key, offset, node } of entries)
    if (key === "version") checkVersion(node, offset, report);
    else if (key !== "settings")
      report(
        offset,
        "",
        `"${shown(key)}" can't stand here; settings stand indented below "settings:"`,
      );
  return settingPairs(settings, report);
}

function reportMissing(entries: readonly SourceEntry[], start: number, report: Report): void {
  const slip = entries.find(({ key }) => didYouMean(key, ["settings"]) !== "");
  if (slip === undefined) report(start, "", `"settings:" is missing: ${FORM}`);
  else report(slip.offset, "", `"${shown(slip.key)}" must be "settings"`);
}

function settingPairs({ node, offset }: SourceEntry, report: Report): readonly Pair[] | undefined {
  if (node === null || (isScalar(node) && node.value === null)) return [];
  if (isMap(node)) return (node as YAMLMap).items;
  report(offset, "", `"settings" must be a mapping: ${FORM}`);
  return undefined;
}

function checkVersion(node: Node | null, offset: number, report: Report): void {
  if (isScalar(node) && node.value === 1) return;
  report(
    offset,
    "",
    "\"version\" is the version of this file's form, and only 1 is known; the site's own version is no setting that can be set",
  );
}

function entriesOf(pairs: readonly Pair[], report: Report): SourceEntry[] {
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

function offsetOf(node: unknown): number {
  return (isNode(node) && node.range?.[0]) || 0;
}

/** Escapes a name for messages. */
export function shown(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name;
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
