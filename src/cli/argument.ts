import { parseArgs } from "node:util";
import { nearestName } from "../config/nearest.ts";
import { quote } from "../config/quote.ts";
import { usage } from "./failure.ts";
import {
  type FlagDefinition,
  type FlagName,
  flags,
  type SwitchFlag,
  type ValueFlag,
} from "./flag.ts";

/** What stands behind a command's name. */
export interface Arguments {
  readonly positionals: readonly string[];
  /** Whether a switch is given. */
  is(name: SwitchFlag): boolean;
  /** The text of a flag; undefined when it is not given. Never empty. */
  text(name: ValueFlag): string | undefined;
}

/** Arguments of one command line at most; a shell's own limit is far above. */
const MAX_ARGUMENTS = 4_096;

/**
 * Reads flags and positional arguments in any order. What stands after `--` is positional.
 *
 * @param known the flags that the command takes.
 * @throws CliFailure (usage) with all problems at once; none repeats a value, which may be secret.
 */
export function readArguments(args: readonly string[], known: readonly FlagName[]): Arguments {
  if (args.length > MAX_ARGUMENTS) throw usage(`more than ${MAX_ARGUMENTS} arguments`);
  const { tokens, positionals } = parseArgs({
    args: [...args],
    options: parseOptions(known),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const problem = problemOf(token, known) ?? repeated(token.name, values);
    if (problem !== undefined) problems.push(problem);
    values.set(token.name, token.value ?? "");
  }
  const [first, ...more] = problems;
  if (first !== undefined) throw usage(first, more);
  return {
    positionals: positionals.map(String),
    is: (name) => values.has(name),
    text: (name) => values.get(name),
  };
}

function parseOptions(known: readonly FlagName[]) {
  return Object.fromEntries(
    known.map((name) => {
      const { value, short }: FlagDefinition = flags[name];
      const type = value === undefined ? ("boolean" as const) : ("string" as const);
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function problemOf(token: OptionToken, known: readonly FlagName[]): string | undefined {
  const { name, rawName, value, inlineValue } = token;
  if (!isKnown(name, known)) return unknownFlag(rawName, known);
  const { value: placeholder }: FlagDefinition = flags[name];
  if (placeholder === undefined)
    return value === undefined ? undefined : `--${name} takes no value`;
  const taken = value ?? "";
  // Without =, another flag that follows is no value; a single dash stands for standard input.
  const missing = taken.trim() === "" || (!inlineValue && /^-./.test(taken));
  return missing
    ? `${rawName} needs a value (${placeholder}); one that begins with - is written --${name}=VALUE`
    : undefined;
}

function isKnown(name: string, known: readonly FlagName[]): name is FlagName {
  return known.some((candidate) => candidate === name);
}

function unknownFlag(rawName: string, known: readonly FlagName[]): string {
  if (!rawName.startsWith("--"))
    return `unknown flag ${quote(rawName)}: a value that begins with - stands after --, or in KEY=VALUE`;
  const nearest = nearestName(
    rawName,
    known.map((name) => `--${name}`),
  );
  return `unknown flag ${quote(rawName)}: did you mean ${nearest}?`;
}

function repeated(name: string, values: ReadonlyMap<string, string>): string | undefined {
  return values.has(name) ? `--${name} is given twice: keep one of them` : undefined;
}
