import { nearestName } from "./nearest.ts";
import { quote } from "./quote.ts";

/** What a command line says, without a look at the values. */
export interface Flags {
  /** Text by flag, such as `--listen`; the first when a flag is given twice. */
  readonly values: ReadonlyMap<string, string>;
  readonly help: boolean;
  readonly version: boolean;
  readonly problems: readonly string[];
}

/**
 * Reads `--flag=value` and `--flag value`, `--help`, `-h` and `--version`. Written here because
 * `util.parseArgs` stops at the first problem, or else reads `-listen` as six short flags.
 *
 * Only names are repeated in a problem: what stands where a value could may be a secret.
 */
export function readFlags(args: readonly string[], known: readonly string[]): Flags {
  const values = new Map<string, string>();
  const problems: string[] = [];
  const switches = { "--help": false, "--version": false };
  for (let index = 0; index < args.length; index++) {
    const { name, inline } = splitFlag(args[index] ?? "");
    if (name === "--help" || name === "--version") {
      switches[name] = true;
      if (inline !== undefined) problems.push(`${name} takes no value`);
    } else if (!name.startsWith("-")) {
      problems.push(`argument ${index + 1} belongs to no flag: write --flag=value or --flag value`);
    } else {
      const next = inline === undefined ? valueAt(args, index + 1) : undefined;
      if (next !== undefined) index++;
      const problem = keep(values, { name, text: inline ?? next, known });
      if (problem !== undefined) problems.push(problem);
    }
  }
  return { values, help: switches["--help"], version: switches["--version"], problems };
}

function splitFlag(arg: string): { name: string; inline: string | undefined } {
  if (arg === "-h") {
    return { name: "--help", inline: undefined };
  }
  const equals = arg.startsWith("-") ? arg.indexOf("=") : -1;
  return equals === -1
    ? { name: arg, inline: undefined }
    : { name: arg.slice(0, equals), inline: arg.slice(equals + 1) };
}

/** The argument there, unless it is a flag itself. */
function valueAt(args: readonly string[], index: number): string | undefined {
  const arg = args[index];
  return arg === "-h" || arg?.startsWith("--") ? undefined : arg;
}

/** Puts a flag's text into `values`; what it returns is a problem. */
function keep(
  values: Map<string, string>,
  { name, text, known }: { name: string; text: string | undefined; known: readonly string[] },
): string | undefined {
  if (!known.includes(name)) {
    const nearest = nearestName(name, [...known, "--help", "--version"]);
    return `unknown flag ${quote(name)}: did you mean ${nearest}? --help lists all`;
  }
  if (values.has(name)) {
    return `${name} is given twice: keep one of them`;
  }
  if (text === undefined || text.trim() === "") {
    return `${name} needs a value; one that begins with -- is written ${name}=VALUE`;
  }
  values.set(name, text);
  return undefined;
}
