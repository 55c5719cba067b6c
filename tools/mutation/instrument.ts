import type { Mutant } from "./mutants.ts";

/** Mutant with the number of its switch. */
export interface Numbered extends Mutant {
  readonly id: number;
}

/** Part of the source text, with its mutants and nested parts. */
interface Part {
  readonly start: number;
  readonly end: number;
  readonly mutants: Numbered[];
  readonly parts: Part[];
}

/**
 * Prelude that reads the mutant from the environment, for programs that tests start. It is on the
 * first line, so that line numbers stay.
 */
const PRELUDE =
  "globalThis.isMutant ??= ((own) => (id) => id === own)(Number(process.env.MOORING_MUTANT));";

/**
 * Writes all mutants into one source text, each behind a switch: modules and tests are loaded once for
 * all of them. The text is for running (types are not narrowed as before).
 */
export function instrument(source: string, mutants: readonly Numbered[]): string {
  const root: Part = { start: 0, end: source.length, mutants: [], parts: [] };
  const outermostFirst = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end);
  const open = [root];
  for (const mutant of outermostFirst) {
    while ((open.at(-1) as Part).end < mutant.end) open.pop();
    const inner = open.at(-1) as Part;
    if (inner !== root && inner.start === mutant.start && inner.end === mutant.end) {
      inner.mutants.push(mutant);
      continue;
    }
    const part = { start: mutant.start, end: mutant.end, mutants: [mutant], parts: [] };
    inner.parts.push(part);
    open.push(part);
  }
  return PRELUDE + write(source, root);
}

function write(source: string, { start, end, mutants, parts }: Part): string {
  let text = "";
  let at = start;
  for (const part of parts) {
    text += source.slice(at, part.start) + write(source, part);
    at = part.end;
  }
  text += source.slice(at, end);
  for (const { id, other } of mutants)
    text =
      other === ";"
        ? `{ if (!isMutant(${id})) { ${text} } }`
        : `(isMutant(${id}) ? (${other}) : (${text}))`;
  return text;
}
