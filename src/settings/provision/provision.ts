import { dirname } from "node:path";
import { LineCounter } from "yaml";
import { type ReadBoundedFile, textOf } from "../../files/bounded-file.ts";
import { yamlSizeProblem } from "../../files/yaml-size.ts";
import { didYouMean } from "../../messages/nearest.ts";
import {
  createInterpolation,
  type Interpolated,
  type Interpolation,
  reveals,
} from "./interpolation.ts";
import {
  type ProvisionProblem,
  parseSource,
  type Report,
  type SourceEntry,
  shown,
} from "./source.ts";
import { settingText, type ValueShape } from "./value.ts";

/** Maximum size of a settings file, in bytes. */
const MAX_BYTES = 1024 * 1024;
/** Maximum number of reported problems. */
const MAX_PROBLEMS = 100;

/** Setting declared by the file. */
interface ProvisionEntry {
  readonly key: string;
  readonly value: string;
  readonly line: number;
  readonly column: number;
}

/** Result of reading a settings file. It is valid when there are no problems. */
export interface Provision {
  /** In the file's order, each key once. Empty when there are problems. */
  readonly entries: readonly ProvisionEntry[];
  /** In the file's order, at most 100. */
  readonly problems: readonly ProvisionProblem[];
  /** Absolute paths of the files with values, readable or not. */
  readonly files: readonly string[];
}

/** Definition of a setting for provisioning. */
export interface ProvisionSetting {
  readonly shape: ValueShape;
  /**
   * @returns the problem of a value, as the end of a sentence that begins with the key; it never
   *   quotes a secret. Undefined: valid.
   */
  readonly check: (value: string) => string | undefined;
}

export interface ProvisionDeps {
  /** Path of the settings file; its folder is the base of relative paths. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: ReadBoundedFile;
  /** The settings that can be declared. */
  readonly settings: ReadonlyMap<string, ProvisionSetting>;
}

/** Reads and parses the settings file. A file that can't be read is a problem of the file. */
export function loadProvision(deps: ProvisionDeps): Provision {
  let text: string;
  try {
    text = textOf(deps.readFile(deps.path, MAX_BYTES));
  } catch (error) {
    const reason = error instanceof Error ? error.message : "can't be read";
    const problem = { line: 0, column: 0, key: "", reason: `the file ${reason}` };
    return { entries: [], problems: [problem], files: [] };
  }
  return parseProvision(text, deps);
}

/**
 * Parses a settings file: YAML 1.2 or JSON with `settings:`, a mapping of keys to values, and
 * optionally `version: 1`. Never throws; all problems are reported at once, with their positions.
 */
export function parseProvision(text: string, deps: ProvisionDeps): Provision {
  const { env, readFile, path, settings } = deps;
  const lines = new LineCounter();
  const found: { offset: number; problem: ProvisionProblem }[] = [];
  const report: Report = (offset, key, reason) => {
    const { line, col } = lines.linePos(offset);
    // For an empty text the counter has no line.
    const problem = { line: Math.max(line, 1), column: Math.max(col, 1), key, reason };
    found.push({ offset, problem });
  };
  const interpolation = createInterpolation({ env, readFile, folder: dirname(path) });
  const finish = (entries: readonly ProvisionEntry[]): Provision => {
    const problems = found.sort((a, b) => a.offset - b.offset).map(({ problem }) => problem);
    return {
      entries: problems.length === 0 ? entries : [],
      problems: problems.slice(0, MAX_PROBLEMS),
      files: interpolation.files(),
    };
  };

  const declared = parseBounded(text, lines, report);
  if (declared === undefined) return finish([]);
  const entries = declared.flatMap((entry): ProvisionEntry[] => {
    if (found.length >= MAX_PROBLEMS) return [];
    const value = readEntry(entry, settings, interpolation);
    if (typeof value !== "string") {
      report(entry.offset, shown(entry.key), value.reason);
      return [];
    }
    const { line, col: column } = lines.linePos(entry.offset);
    return [{ key: entry.key, value, line, column }];
  });
  return finish(entries);
}

function parseBounded(text: string, lines: LineCounter, report: Report): SourceEntry[] | undefined {
  const problem =
    text.length > MAX_BYTES
      ? `the file has more than ${MAX_BYTES} characters`
      : yamlSizeProblem(text);
  if (problem === undefined) return parseSource(text, lines, report);
  report(0, "", problem);
  return undefined;
}

function readEntry(
  { key, node }: SourceEntry,
  settings: ReadonlyMap<string, ProvisionSetting>,
  interpolation: Interpolation,
): string | { readonly reason: string } {
  const setting = settings.get(key);
  if (setting === undefined)
    return { reason: `there is no such setting.${didYouMean(key, settings.keys())}` };
  try {
    const value = settingText(node, setting.shape, interpolation);
    const problem = setting.check(value.text);
    return problem === undefined ? value.text : { reason: withoutHidden(problem, value) };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Removes a problem's text if it reveals a value of the environment or a file, which may be secret.
 */
function withoutHidden(problem: string, { hidden }: Interpolated): string {
  return reveals(problem, hidden)
    ? "the value taken from the environment or a file breaks the rules of this setting; it is not shown, because it may be a secret"
    : problem;
}
