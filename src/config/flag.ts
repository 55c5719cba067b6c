import { parseArgs } from "node:util";
import { suggestion } from "../suggestion.ts";
import { quote } from "./complaint.ts";

/** Notation of a flag. */
export interface Flag {
  /** Placeholder of its value in the help; absent: the flag is a switch. */
  readonly value?: string;
  /** One letter, for `-n`. */
  readonly short?: string;
  /** Whether it may be given several times. */
  readonly repeats?: boolean;
}

/** Parsed command line, with unchecked values. */
export interface CommandLine {
  /** Text by the flag's name without dashes, empty for a switch; the first when it is given twice. */
  readonly values: ReadonlyMap<string, string>;
  /** All texts of the flags that repeat, in order. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
  /** One line each. Only names of flags are quoted: a value may be a secret. */
  readonly problems: readonly string[];
}

/** Token of `util.parseArgs`. */
interface Token {
  readonly name: string;
  /** As written, with its dashes. */
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

/**
 * Reads flags, `--name=VALUE`, `--name VALUE`, `-nVALUE` or `-n VALUE`, and other arguments in any
 * order. Everything after `--` is an argument.
 *
 * @param positionals whether arguments other than flags are allowed; else each is a problem.
 */
export function readCommandLine(
  args: readonly string[],
  flags: Readonly<Record<string, Flag>>,
  { positionals }: { readonly positionals: boolean },
): CommandLine {
  const { tokens } = parseArgs({
    args: [...args],
    options: optionsOf(flags),
    strict: false,
    tokens: true,
  });
  const values = new Map<string, string>();
  const lists = new Map<string, string[]>();
  const others: string[] = [];
  const problems = new Map<number, string>();
  let unknown = Number.NaN;
  for (const token of tokens) {
    if (token.kind === "option") {
      // One argument of several letters is one problem.
      if (problems.has(token.index)) continue;
      const written = args[token.index] ?? "";
      const name = Object.hasOwn(flags, token.name) ? token.name : undefined;
      if (name === undefined) unknown = token.index;
      const problem =
        name === undefined
          ? unknownFlag(written, flags, positionals)
          : (valueProblem(token, flags) ?? repeated(name, flags, values));
      if (problem !== undefined) problems.set(token.index, problem);
      else if (flags[token.name]?.repeats === true)
        lists.set(token.name, [...(lists.get(token.name) ?? []), token.value ?? ""]);
      else values.set(token.name, token.value ?? "");
    } else if (token.kind === "positional") {
      others.push(token.value);
      // An argument after an unknown flag is that flag's value.
      if (!positionals && token.index !== unknown + 1)
        problems.set(
          token.index,
          `argument ${token.index + 1} does not belong to a flag: write --flag=value or --flag value`,
        );
    }
  }
  return { values, lists, positionals: others, problems: [...problems.values()] };
}

function optionsOf(flags: Readonly<Record<string, Flag>>) {
  return Object.fromEntries(
    Object.entries(flags).map(([name, { value, short }]) => {
      const type = value === undefined ? ("boolean" as const) : ("string" as const);
      return [name, short === undefined ? { type } : { type, short }];
    }),
  );
}

function unknownFlag(
  written: string,
  flags: Readonly<Record<string, Flag>>,
  positionals: boolean,
): string {
  const [name = ""] = written.split("=");
  const begin = `unknown flag ${quote(name)}`;
  if (positionals && !name.startsWith("--"))
    return `${begin}: write a value that begins with - after --, or as KEY=VALUE`;
  const known = Object.keys(flags).map((each) => `--${each}`);
  const similar = suggestion(name, known, positionals ? "" : ":");
  return `${begin}${similar}${positionals ? "" : " --help lists all"}`;
}

function valueProblem(
  { name, rawName, value, inlineValue }: Token,
  flags: Readonly<Record<string, Flag>>,
): string | undefined {
  const { value: placeholder } = flags[name] ?? {};
  if (placeholder === undefined)
    return value === undefined ? undefined : `--${name} takes no value`;
  const taken = value ?? "";
  // Without =, another flag that follows is no value.
  const missing = taken.trim() === "" || (!inlineValue && isFlag(taken, flags));
  return missing
    ? `${rawName} needs a value (${placeholder}); write a value that begins with -- as --${name}=VALUE`
    : undefined;
}

function isFlag(text: string, flags: Readonly<Record<string, Flag>>): boolean {
  return (
    text.startsWith("--") || Object.values(flags).some(({ short }) => short && text === `-${short}`)
  );
}

function repeated(
  name: string,
  flags: Readonly<Record<string, Flag>>,
  values: ReadonlyMap<string, string>,
): string | undefined {
  if (flags[name]?.repeats === true) return undefined;
  return values.has(name) ? `--${name} is given twice: keep one of them` : undefined;
}
