import type { Arguments } from "./argument.ts";
import { usage } from "./failure.ts";
import { readText } from "./input.ts";
import type { World } from "./world.ts";

/** A key and the value that it is to have. */
export interface Assignment {
  readonly key: string;
  readonly value: string;
}

/** Bytes of a value that comes from a file: the most that a setting holds, and its line break. */
const VALUE_LIMIT = 64 * 1024 + 2;

/**
 * Reads what is to be set: `KEY=VALUE…`, `KEY VALUE`, `KEY -` or `KEY --from-file PATH`.
 *
 * @throws CliFailure for anything else, or a file that can't be read.
 */
export async function readAssignments(
  args: Arguments,
  world: World,
  notice: (text: string) => void,
): Promise<Assignment[]> {
  const [key = "", value, ...others] = args.positionals;
  const path = args.text("from-file");
  if (path !== undefined) {
    if (value !== undefined) throw usage("--from-file goes with one KEY and no value");
    return [{ key, value: await readValue(path, world) }];
  }
  // A key that has = in it itself is set with --from-file.
  if (value === undefined || others.length > 0 || key.includes("="))
    return args.positionals.map(splitAssignment);
  if (value !== "-") return [{ key, value }];
  if (world.stdin.isTTY) notice("type the value; Ctrl-D on an empty line ends it");
  return [{ key, value: await readValue("-", world) }];
}

/** A value from a file or standard input, without the line break that editors put at the end. */
export async function readValue(path: string, world: World): Promise<string> {
  const text = await readText({ path, limit: VALUE_LIMIT }, world);
  return text.replace(/\r?\n$/, "");
}

function splitAssignment(argument: string): Assignment {
  const at = argument.indexOf("=");
  if (at > 0) return { key: argument.slice(0, at), value: argument.slice(at + 1) };
  // What stands there may be a secret whose key was forgotten: it is not repeated.
  throw usage(
    "an argument is no KEY=VALUE: write KEY=VALUE for each setting, or KEY VALUE for one",
  );
}
