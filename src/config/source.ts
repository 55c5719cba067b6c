import { type ConfigName, type Definition, definitions, flagOf } from "./definition.ts";
import type { Flags } from "./flag.ts";

/** An environment, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A text and who said it. */
export interface Sourced {
  /** What a complaint begins with: `--listen`, `MOORING_LISTEN`, or the name and path of a file. */
  readonly source: string;
  /** Trimmed, not empty. */
  readonly text: string;
}

/** The texts to parse, by the name of their definition; defaults are not among them. */
export type Texts = Map<ConfigName, Sourced>;

/** All names, in the order of the definitions. */
export const configNames = Object.keys(definitions) as readonly ConfigName[];

/** What was given, each by flag, else by variable. An empty variable counts as unset. */
export function readTexts(from: { flags: Flags; env: Environment }): Texts {
  const texts: Texts = new Map();
  for (const name of configNames) {
    const sourced = given(definitions[name], from);
    if (sourced !== undefined) {
      texts.set(name, sourced);
    }
  }
  return texts;
}

function given(
  definition: Definition,
  { flags, env }: { flags: Flags; env: Environment },
): Sourced | undefined {
  const flag = flagOf(definition);
  const fromFlag = flags.values.get(flag);
  if (fromFlag !== undefined) {
    return { source: flag, text: fromFlag.trim() };
  }
  // White space around a value is an accident of the file it came from, such as a CR at the end.
  const text = (env[definition.variable] ?? "").trim();
  return text === "" ? undefined : { source: definition.variable, text };
}
