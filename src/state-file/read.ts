import { dirname } from "node:path";
import { isMap, isScalar, LineCounter, type Node } from "yaml";
import { identifierOf } from "../archive/identifier.ts";
import { type ReadBoundedFile, textOf } from "../files/bounded-file.ts";
import type { Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { type DeclaredEntry, type EntryReaderDeps, readEntries } from "./entry.ts";
import type { FileForm } from "./form.ts";
import { newPlace, type PlaceTree, placeAt } from "./place-tree.ts";
import { MAX_PROBLEMS, type Place, type Problem, shown, sortedProblems } from "./problem.ts";
import { createReferences, reveals } from "./reference.ts";
import type { ValueShape } from "./setting-value.ts";
import { entriesOf, isEmpty, offsetOf, parseSource, type SourceEntry } from "./source.ts";

/** Maximum size of a file, in bytes. */
export const MAX_BYTES = 4 * 1024 * 1024;

/** Content of a file that declares records. */
export interface StateFile {
  /** Entries by their parts of an archive. Members with a problem have an empty value. */
  readonly sections: ReadonlyMap<string, readonly DeclaredEntry[]>;
  /** In the order of the file, at most 100. */
  readonly problems: readonly Problem[];
  /** Absolute paths of files with values, readable or not. */
  readonly files: readonly string[];
  /** Text that changes with the content. Moved lines do not matter. */
  readonly content: string;
  /**
   * Problem of a field such as `mounts[0].config.root_folder_path`, at its place. A reason that
   * reveals a value of the environment or of a file is replaced. Undefined: the place has a problem
   * already.
   */
  problemAt(field: string, reason: Text): Problem | undefined;
}

export interface ReadDeps {
  readonly form: FileForm;
  /** Path of the file; its folder is the base of relative paths. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: ReadBoundedFile;
  /** Names of the parts of an archive. */
  readonly parts: readonly string[];
  /** Form of the values of a setting; undefined: it is not defined by the program. */
  readonly shapeOf: (key: string) => ValueShape | undefined;
}

/** Reads a file. A file that cannot be read has a problem. */
export function loadStateFile(deps: ReadDeps): StateFile {
  try {
    return parseStateFile(textOf(deps.readFile(deps.path, MAX_BYTES)), deps);
  } catch (error) {
    const reason = `the file ${error instanceof Error ? error.message : "can't be read"}`;
    return {
      sections: new Map(),
      problems: [{ line: 0, column: 0, key: "", reason }],
      files: [],
      content: reason,
      problemAt: () => undefined,
    };
  }
}

/** Parses a file: YAML 1.2 or JSON. All problems are reported at once, with their places. */
export function parseStateFile(text: string, deps: ReadDeps): StateFile {
  const { env, readFile, path } = deps;
  const lines = new LineCounter();
  const problems: Problem[] = [];
  const reported = new Set<number>();
  const placeOf = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    // For an empty text the counter has no line.
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const report = (offset: number, key: string, reason: string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push({ ...placeOf(offset), key, reason });
  };
  const references = createReferences({ env, readFile, folder: dirname(path) });
  const readerDeps: EntryReaderDeps = {
    references,
    shapeOf: deps.shapeOf,
    report: (offset, key, reason, at = offset) => {
      reported.add(at);
      report(offset, key, reason);
    },
  };
  const root = newPlace(0);
  const sections = new Map<string, readonly DeclaredEntry[]>();
  const hidden = new Map<string, readonly string[]>();
  for (const { key, offset, node } of sectionsOf(text, deps, lines, report)) {
    const tree = newPlace(offset);
    root.members.set(key, tree);
    const entries = readEntries(key, node, tree, readerDeps);
    sections.set(
      key,
      entries.map(({ entry }) => entry),
    );
    for (const [at, each] of entries.entries()) hidden.set(`${key}[${at}]`, each.hidden);
  }
  return {
    sections,
    problems: sortedProblems(problems),
    files: references.files(),
    content: JSON.stringify([[...sections], problems.map(({ key, reason }) => [key, reason])]),
    problemAt: (field, reason) => {
      const [, part = field, at = "", rest = ""] =
        /^(\w+)(?:\[(\d+)\])?\.?(.*)$/s.exec(field) ?? [];
      const name = sections.get(part)?.[Number(at || -1)]?.name;
      const section = root.members.get(part) ?? root;
      const entry = name === undefined ? section : (section.members.get(name) ?? section);
      const { offset } = placeAt(entry, rest === "" ? memberNamedBy(reason, entry) : rest);
      if (reported.has(offset)) return undefined;
      const isSecret = reveals(String(reason), hidden.get(`${part}[${at}]`) ?? []);
      const place = root.members.size === 0 ? { line: 1, column: 1 } : placeOf(offset);
      if (isSecret) return { ...place, key: name ?? "", reason: HIDDEN };
      const shownReason = withoutIndex(String(reason), `${part}[${at}]`, name);
      return { ...place, key: "", reason: shownReason };
    },
  };
}

/** Member that a reason begins with, such as `url must be …`; empty: none. */
function memberNamedBy(reason: Text, { members }: PlaceTree): string {
  const [, name = ""] = /^"?([^" ]+)"?[ :]/.exec(String(reason)) ?? [];
  return members.has(name) ? name : "";
}

const HIDDEN =
  "the value taken from the environment or a file breaks the rules of this entry; it is not shown, because it may be a secret";

/** Replaces an index by the name: `mounts[3].config.x …` becomes `films.config.x …`. */
function withoutIndex(reason: string, index: string, name: string | undefined): string {
  if (name === undefined) return reason;
  if (reason.startsWith(index)) return `${shown(name)}${reason.slice(index.length)}`;
  return reason.startsWith(`${name}:`) || reason.startsWith(`${name}.`)
    ? reason
    : `${shown(name)}: ${reason}`;
}

/** Sections of a text. Members that cannot stand there are reported. */
function sectionsOf(
  text: string,
  { form, parts }: ReadDeps,
  lines: LineCounter,
  report: (offset: number, key: string, reason: string) => void,
): readonly SourceEntry[] {
  const document = parseSource(text, lines, report);
  if (document === undefined) return [];
  const names = form.section === undefined ? parts : [form.section];
  const [first = ""] = names;
  const help =
    form.section === undefined
      ? `the form is ${names.map((name) => `"${name}:"`).join(", ")}, each with an indented entry for each name`
      : `the form is "${form.section}:" with one indented entry for each name`;
  const root = document.contents;
  if (isEmpty(root)) {
    report(0, "", `the file is empty: ${help}; "${first}: {}" declares none`);
    return [];
  }
  if (!isMap(root)) {
    report(offsetOf(root), "", `this is not a mapping: ${help}`);
    return [];
  }
  const entries = entriesOf(root.items, report);
  const sections = entries.filter(({ key }) => names.includes(key));
  for (const { key, offset, node } of entries) {
    if (key === "version") checkVersion(node, offset, report);
    else if (names.includes(key) || key === "$schema") continue;
    else if (didYouMean(key, names) !== "")
      report(offset, "", `there is no section "${shown(key)}".${didYouMean(key, names)}`);
    else if (sections.length > 0) report(offset, "", `"${shown(key)}" can't stand here: ${help}`);
  }
  const isMisspelt = entries.some(({ key }) => didYouMean(key, names) !== "");
  if (sections.length === 0 && !isMisspelt)
    report(offsetOf(root), "", `"${first}:" is missing: ${help}`);
  return sections;
}

function checkVersion(
  node: Node | null,
  offset: number,
  report: (offset: number, key: string, reason: string) => void,
): void {
  if (isScalar(node) && node.value === 1) return;
  const reason = '"version" is the version of this file\'s form, and only 1 is known';
  report(offset, "", reason);
}

/** The document of a file in the form of an archive, with secrets in the clear. */
export function documentOf({ sections }: Pick<StateFile, "sections">): Record<string, unknown> {
  const parts = [...sections].map(([part, entries]) => [
    part,
    entries.map(({ name, members }) => ({ [identifierOf(part)]: name, ...members })),
  ]);
  return { format: "mooring-archive", version: 1, ...Object.fromEntries(parts) };
}
