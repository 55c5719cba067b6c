import { dirname } from "node:path";
import { isMap, isPair, isScalar, isSeq, LineCounter, type Node } from "yaml";
import { identifierOf } from "../archive/identifier.ts";
import { errorText } from "../error-text.ts";
import { type ReadBoundedFile, textOf } from "../files/bounded-file.ts";
import type { Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { FileForm } from "./form.ts";
import { newPlace, type PlaceTree, placeAt } from "./place-tree.ts";
import { MAX_PROBLEMS, type Place, type Problem, shown, sortedProblems } from "./problem.ts";
import { createReferences, type References, reveals } from "./reference.ts";
import { settingText, type ValueShape } from "./setting-value.ts";
import { entriesOf, isEmpty, offsetOf, parseSource, type SourceEntry } from "./source.ts";

/** Maximum size of a file, in bytes. */
export const MAX_BYTES = 4 * 1024 * 1024;
/** Maximum nesting of an entry. */
const MAX_DEPTH = 8;

/** Entry of a section, such as a mount. */
export interface DeclaredEntry {
  readonly name: string;
  /** Its members as in an archive, with references resolved. */
  readonly members: Readonly<Record<string, unknown>>;
}

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
  const reader = createReader({
    references,
    shapeOf: deps.shapeOf,
    report: (offset, key, reason, at = offset) => {
      reported.add(at);
      report(offset, key, reason);
    },
  });
  const root = newPlace(0);
  const sections = new Map<string, readonly DeclaredEntry[]>();
  const hidden = new Map<string, readonly string[]>();
  for (const { key, offset, node } of sectionsOf(text, deps, lines, report)) {
    const tree = newPlace(offset);
    root.members.set(key, tree);
    const entries = reader.entriesOf(key, node, tree);
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

interface ReadEntry {
  readonly entry: DeclaredEntry;
  /** Texts from the environment or files, which may be secret. */
  readonly hidden: readonly string[];
}

/** @param report with `at`, the offset of the key that has the problem; default: the same. */
function createReader({
  references,
  shapeOf,
  report,
}: {
  readonly references: References;
  readonly shapeOf: ReadDeps["shapeOf"];
  readonly report: (offset: number, key: string, reason: string, at?: number) => void;
}) {
  return {
    /** Entries of a section: a mapping by their names, or a list as in an archive. */
    entriesOf: (part: string, node: Node | null, tree: PlaceTree): ReadEntry[] => {
      if (isEmpty(node)) return [];
      const read = part === "settings" ? readSetting : readRecord;
      if (isMap(node))
        return entriesOf(node.items, (...problem) => report(...problem)).flatMap(
          ({ key, offset, node: value }) => {
            const place = newPlace(offset);
            tree.members.set(key, place);
            return read(key, value, place) ?? [];
          },
        );
      if (isSeq(node)) return listEntries(part, node.items, tree);
      report(tree.offset, "", `"${part}" must be a mapping with an entry for each name`);
      return [];
    },
  };

  function listEntries(part: string, items: readonly unknown[], tree: PlaceTree): ReadEntry[] {
    const identifier = identifierOf(part);
    return items.flatMap((item) => {
      const place = newPlace(offsetOf(item));
      const hidden: string[] = [];
      const { [identifier]: name, ...members } = isMap(item)
        ? recordOf(item, place, hidden, part)
        : {};
      if (typeof name !== "string" || name === "" || tree.members.has(name)) {
        const reason =
          typeof name === "string" && name !== ""
            ? `${JSON.stringify(shown(name))} occurs a second time here`
            : `each item of a list needs "${identifier}"`;
        report(place.offset, "", reason);
        return [];
      }
      tree.members.set(name, place);
      return [{ entry: { name, members }, hidden }];
    });
  }

  /** A known setting has a value; any other one a mapping with `value`, as in an archive. */
  function readSetting(key: string, node: Node | null, place: PlaceTree): ReadEntry | undefined {
    const shape = shapeOf(key);
    try {
      const isDescribed =
        isMap(node) && shape !== "json" && (shape === undefined || node.has("value"));
      if (!isDescribed) {
        const { text: value, hidden } = settingText(node, shape ?? "json", references);
        return { entry: { name: key, members: { value } }, hidden };
      }
      const hidden: string[] = [];
      const members = recordOf(node, place, hidden, "settings");
      return { entry: { name: key, members: { type: "string", ...members } }, hidden };
    } catch (error) {
      report(place.offset, shown(key), errorText(error));
      return undefined;
    }
  }

  function readRecord(name: string, node: Node | null, place: PlaceTree): ReadEntry | undefined {
    if (!isMap(node)) {
      report(place.offset, "", `${JSON.stringify(shown(name))} must be a mapping`);
      return undefined;
    }
    const hidden: string[] = [];
    return { entry: { name, members: recordOf(node, place, hidden) }, hidden };
  }

  /** Members of an entry. The value of a setting keeps its notation. */
  function recordOf(
    node: unknown,
    place: PlaceTree,
    hidden: string[],
    part = "",
  ): Record<string, unknown> {
    const read = (value: unknown, at: PlaceTree, key: string, depth: number): unknown => {
      if (part !== "settings" || key !== "value" || depth > 1 || !isScalar(value))
        return plain(value, at, depth);
      const { text, hidden: parts } = settingText(value, "text", references);
      hidden.push(...parts);
      return text;
    };
    const mapping = (items: readonly unknown[], at: PlaceTree, depth: number) => {
      const members = new Map<string, unknown>();
      for (const pair of items) {
        if (!isPair(pair) || !isScalar(pair.key)) {
          report(offsetOf(node), "", "a key must be text", at.offset);
          continue;
        }
        const key = String(pair.key.value);
        const inner = newPlace(offsetOf(pair.key));
        if (at.members.has(key))
          report(inner.offset, "", `${JSON.stringify(shown(key))} occurs a second time here`);
        at.members.set(key, inner);
        members.set(key, read(pair.value, inner, key, depth + 1));
      }
      return Object.fromEntries(members);
    };
    const plain = (value: unknown, at: PlaceTree, depth: number): unknown => {
      if (depth > MAX_DEPTH) {
        report(offsetOf(value), "", "mappings are nested too deeply", at.offset);
        return null;
      }
      if (isScalar(value)) {
        if (typeof value.value !== "string") return value.value;
        try {
          const { text, hidden: parts } = references.resolve(value.value);
          hidden.push(...parts);
          return text;
        } catch (error) {
          report(offsetOf(value), "", errorText(error), at.offset);
          return "";
        }
      }
      if (isSeq(value))
        return value.items.map((item, number) => {
          const inner = newPlace(offsetOf(item));
          at.members.set(`[${number}]`, inner);
          return plain(item, inner, depth + 1);
        });
      if (isMap(value)) return mapping(value.items, at, depth);
      if (value !== null)
        report(offsetOf(value), "", "anchors and aliases are not supported", at.offset);
      return null;
    };
    return isMap(node) ? mapping(node.items, place, 0) : {};
  }
}

/** The document of a file in the form of an archive, with secrets in the clear. */
export function documentOf({ sections }: Pick<StateFile, "sections">): Record<string, unknown> {
  const parts = [...sections].map(([part, entries]) => [
    part,
    entries.map(({ name, members }) => ({ [identifierOf(part)]: name, ...members })),
  ]);
  return { format: "mooring-archive", version: 1, ...Object.fromEntries(parts) };
}
