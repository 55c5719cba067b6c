import { dirname } from "node:path";
import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { StoreError } from "../database/error.ts";
import { readBoundedFile, textOf } from "../files/bounded-file.ts";
import { type WatchTimes, watchContent } from "../files/file-watch.ts";
import { isObject } from "../files/json-source.ts";
import { yamlSizeProblem } from "../files/yaml-size.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { ServiceError } from "../messages/error.ts";
import { Message, type Text } from "../messages/message.ts";
import { createInterpolation, type Interpolation } from "../settings/provision/interpolation.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import { quoted, readDeclared } from "./declared-mount.ts";
import type { MountInput } from "./input.ts";
import type { DeclaredMounts } from "./mount-service.ts";

const MAX_BYTES = 1024 * 1024;
/** Maximum nesting of mappings. */
const MAX_DEPTH = 8;
/** Maximum number of reported problems. */
const MAX_PROBLEMS = 100;

/** Origin of changes by the file, in the history. */
const FILE: RevisionOrigin = {
  actor: "mounts-file",
  transport: "file",
  method: "",
  requestId: "",
  peer: "",
  reason: "declared in the file of mounts",
};

/** Line and column of a file, from 1; 0: the whole file. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** Problem of a file of mounts. */
interface Problem extends Place {
  readonly reason: Text;
  /** Whether the file is valid once a site with this name exists. */
  readonly isUnknownSite?: boolean;
}

/** Parsed file of mounts. */
interface MountsFile {
  /** Mounts of the file. Members with a problem have an empty or invalid value. */
  readonly inputs: readonly MountInput[];
  readonly problems: readonly Problem[];
  /** Absolute paths of files with values. */
  readonly files: readonly string[];
  /** Position of a violation's field, such as `mounts[0].config.root_folder_path`. */
  readonly place: (field: string) => Place;
  /** Reports whether a position has a problem already; further violations there are omitted. */
  readonly isReported: (place: Place) => boolean;
  /** Text that changes with the content. */
  readonly content: string;
}

export interface MountsFileDeps {
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly declare: DeclaredMounts["declare"];
  readonly sites: Pick<SiteRegistry, "names" | "onChange">;
  readonly onApplied: (names: readonly string[]) => void;
  /** Called with the problems of an invalid file, after which the mounts stay unchanged. */
  readonly onProblems: (lines: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
  readonly times?: WatchTimes;
}

/**
 * Applies a file of mounts as one revision, at the start and after each change. Declared mounts can
 * be changed only in the file. A file that names an unknown site is applied when the site exists.
 *
 * @returns a function that ends this. @throws Error with the problems of the file, one line each:
 *   `path:line:column: reason`.
 */
export async function followMountsFile(deps: MountsFileDeps): Promise<() => Promise<void>> {
  const { path, env } = deps;
  const load = (): MountsFile => loadMounts(path, env);
  /** Saves the mounts, or only checks them. @returns violations of the rules of mounts. */
  const declare = async (file: MountsFile, dryRun: boolean): Promise<readonly Problem[]> => {
    try {
      await deps.declare(file.inputs, FILE, `the file of mounts ${path}`, { dryRun });
      return [];
    } catch (error) {
      // An unavailable database is no problem of the file, which is applied later.
      if (!(error instanceof ServiceError) || error.cause instanceof StoreError) throw error;
      const { violations } = error;
      if (violations.length === 0) return [{ ...NOWHERE, reason: error.message }];
      return violations.map(({ field, description }) => ({
        ...file.place(field),
        reason: withoutIndex(String(description), file.inputs),
        isUnknownSite: description instanceof Message && description.problem.id === "SITE_UNKNOWN",
      }));
    }
  };
  const apply = async (file: MountsFile): Promise<readonly Problem[]> => {
    const isRead = file.problems.length === 0;
    const broken = await declare(file, !isRead);
    const others = isRead ? broken : broken.filter((place) => !file.isReported(place));
    const problems = sortByPlace([...file.problems, ...others]).slice(0, MAX_PROBLEMS);
    if (problems.length === 0) deps.onApplied(file.inputs.map(({ name }) => name));
    return problems;
  };
  const linesOf = (problems: readonly Problem[]): readonly string[] =>
    problems.map((problem) => lineOf(path, problem));
  const first = load();
  const problems = await apply(first);
  if (!problems.every(({ isUnknownSite }) => isUnknownSite))
    throw new Error(`the file of mounts is invalid\n${linesOf(problems).join("\n")}`);
  // Sites are created while the service runs: the file is applied when it names no unknown site.
  if (problems.length > 0) deps.onProblems(linesOf(problems));
  return watchContent({
    path,
    first,
    load,
    keyOf: ({ content, inputs }) => JSON.stringify([content, unknownSites(inputs, deps.sites)]),
    onChange: async (file) => {
      const found = await apply(file);
      if (found.length > 0) deps.onProblems(linesOf(found));
    },
    subscribe: (listener) => onSiteNames(deps.sites, listener),
    onError: deps.onError,
    times: deps.times,
  });
}

/** Sites that the mounts name and that do not exist. */
function unknownSites(
  inputs: readonly MountInput[],
  known: Pick<SiteRegistry, "names">,
): readonly string[] {
  const { idOf } = known.names();
  return inputs
    .flatMap(({ sites, overrides }) => [
      ...(typeof sites === "object" ? sites : []),
      ...Object.keys(overrides ?? {}),
    ])
    .filter((name) => idOf(name) === undefined);
}

/** Calls the listener when a site is created, renamed or removed. @returns a function that ends this. */
function onSiteNames(
  sites: Pick<SiteRegistry, "names" | "onChange">,
  listener: () => void,
): () => void {
  let before = sites.names().names.join(" ");
  return sites.onChange(() => {
    const now = sites.names().names.join(" ");
    if (now === before) return;
    before = now;
    listener();
  });
}

function sortByPlace(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function lineOf(path: string, { line, column, reason }: Problem): string {
  return line === 0 ? `${path}: ${reason}` : `${path}:${line}:${column}: ${reason}`;
}

/** Replaces an index by the mount's name: `mounts[3].config.x …` becomes `films.config.x …`. */
function withoutIndex(description: string, inputs: readonly MountInput[]): string {
  return description.replace(/^mounts\[(\d+)\]/, (whole, at: string) => {
    return inputs[Number(at)]?.name ?? whole;
  });
}

/** Reads a file of mounts. Its problems are in the result. */
export function loadMounts(path: string, env: MountsFileDeps["env"]): MountsFile {
  let text: string;
  try {
    text = textOf(readBoundedFile(path, MAX_BYTES));
  } catch (error) {
    const reason = `the file ${error instanceof Error ? error.message : "can't be read"}`;
    return unreadable(reason);
  }
  return parseMounts(
    text,
    createInterpolation({ env, readFile: readBoundedFile, folder: dirname(path) }),
  );
}

/** File that is not parsed. */
function unreadable(reason: string): MountsFile {
  return {
    inputs: [],
    problems: [{ line: 0, column: 0, reason }],
    files: [],
    content: reason,
    place: () => NOWHERE,
    isReported: () => true,
  };
}

const NOWHERE = { line: 0, column: 0 } as const;
const FORM = 'the form is "mounts:" with an indented mapping for each name';
/** Parses YAML 1.2, which includes JSON. Problems never quote a value. */
export function parseMounts(text: string, interpolation: Interpolation): MountsFile {
  const sizeProblem = yamlSizeProblem(text);
  if (sizeProblem !== undefined) return unreadable(sizeProblem);
  const lines = new LineCounter();
  // The package's own check for equal keys takes quadratic time; the check below does not.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
  });
  const problems: Problem[] = [];
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const reported = new Set<string>();
  const report = (offset: number, reason: Text, key = offset): void => {
    reported.add(placeKey(placeAt(key)));
    if (problems.length < MAX_PROBLEMS) problems.push({ ...placeAt(offset), reason });
  };
  const [slip] = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  if (slip !== undefined) report(slip.pos[0], `this is no YAML (${slip.code})`);
  /** Offset of the key of a path. */
  const offsets = new Map<string, number>();
  const offsetAt = (path: readonly string[]): number => {
    for (let length = path.length; length > 0; length -= 1) {
      const offset = offsets.get(JSON.stringify(path.slice(0, length)));
      if (offset !== undefined) return offset;
    }
    return 0;
  };
  const plain = (node: unknown, path: readonly string[]): unknown => {
    if (path.length > MAX_DEPTH) {
      report(offsetOf(node), "mappings are nested too deeply", offsetAt(path));
      return null;
    }
    if (isScalar(node)) {
      if (typeof node.value !== "string") return node.value;
      try {
        return interpolation.resolve(node.value).text;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        report(offsetOf(node), reason, offsetAt(path));
        return "";
      }
    }
    if (isSeq(node)) return node.items.map((item) => plain(item, [...path, "[]"]));
    if (!isMap(node)) {
      if (node !== null)
        report(offsetOf(node), "anchors and aliases are not supported", offsetAt(path));
      return null;
    }
    return Object.fromEntries(
      node.items.flatMap((pair): [string, unknown][] => {
        if (!isPair(pair) || !isScalar(pair.key)) {
          report(offsetOf(node), "a key must be text");
          return [];
        }
        const key = String(pair.key.value);
        const place = JSON.stringify([...path, key]);
        if (offsets.has(place))
          report(offsetOf(pair.key), `${quoted(key)} occurs a second time here`);
        offsets.set(place, offsetOf(pair.key));
        return [[key, plain(pair.value, [...path, key])]];
      }),
    );
  };
  const root = slip === undefined ? plain(document.contents, []) : undefined;
  const inputs: MountInput[] = [];
  if (slip === undefined) {
    const { mounts, version, ...rest } = isObject(root) ? root : { mounts: undefined };
    if (!isObject(mounts)) report(0, `"mounts:" is missing: ${FORM}`);
    if (version !== undefined && version !== 1) report(offsetAt(["version"]), "version must be 1");
    for (const name of Object.keys(rest))
      report(offsetAt([name]), `${quoted(name)} can't stand here: ${FORM}`);
    for (const [name, given] of Object.entries(isObject(mounts) ? mounts : {}))
      inputs.push(
        readDeclared(name, given, (path, reason) =>
          report(offsetAt(["mounts", name, ...path]), reason),
        ),
      );
  }
  return {
    inputs,
    problems: sortByPlace(problems),
    files: interpolation.files(),
    place: (field) => placeAt(offsetAt(pathOf(field, inputs))),
    isReported: (place) => reported.has(placeKey(place)),
    content: JSON.stringify([root, problems]),
  };
}

function placeKey({ line, column }: Place): string {
  return `${line}:${column}`;
}

function offsetOf(node: unknown): number {
  return (node as Node | null)?.range?.[0] ?? 0;
}

/** Path of keys to a violation's field in the file. */
function pathOf(field: string, inputs: readonly MountInput[]): string[] {
  const [, at, rest = ""] = /^mounts\[(\d+)\]\.?(.*)$/s.exec(field) ?? [];
  const input = inputs[Number(at ?? -1)];
  if (input === undefined) return [];
  const start = ["mounts", input.name];
  const site = Object.keys(input.overrides ?? {}).find(
    (each) => rest === `overrides.${each}` || rest.startsWith(`overrides.${each}.`),
  );
  const [base, inner] =
    site === undefined
      ? [start, rest]
      : [[...start, "overrides", site], rest.slice(`overrides.${site}.`.length)];
  if (inner === "mount_path") return [...base, "path"];
  const [, group, name] = /^(config|members)\.(.+)$/s.exec(inner) ?? [];
  return group === undefined || name === undefined ? [...base, inner] : [...base, group, name];
}
