/** Part of a program that a user can choose by its name. */
interface Named {
  readonly name: string;
  readonly title: string;
}

/** Options of programs with such parts. */
export const commonOptions = {
  quick: { type: "boolean", default: false },
  only: { type: "string", multiple: true },
  list: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** Runs a program with the arguments of its command line. Its exit code is 1 after an error. */
export async function runProgram(
  name: string,
  main: (args: readonly string[]) => Promise<number>,
): Promise<void> {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${name}: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
}

/** The names of all parts with their titles, a line each. */
export function listText(all: readonly Named[]): string {
  return all.map(({ name, title }) => `${name.padEnd(28)} ${title}\n`).join("");
}

/**
 * The chosen parts, in their usual order; without names all of them.
 *
 * @param names each may be a list with commas.
 * @throws Error that names an unknown part. @param kind of the parts, and the command that lists them.
 */
export function chosenOf<T extends Named>(
  all: readonly T[],
  names: readonly string[],
  [kind, command]: readonly [kind: string, command: string],
): readonly T[] {
  const wanted = names.flatMap((name) => name.split(",")).filter(Boolean);
  const unknown = wanted.find((name) => !all.some((each) => each.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no ${kind} "${unknown}": see npm run ${command} -- --list`);
  return wanted.length === 0 ? all : all.filter(({ name }) => wanted.includes(name));
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** @returns the exit code of success. */
export function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
