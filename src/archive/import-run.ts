import { LocalizableError, ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { createRefusals } from "./declared.ts";
import type {
  ArchiveCaller,
  ArchivePart,
  EntryResult,
  GivenEntries,
  ImportContext,
  PartResult,
} from "./part.ts";

export interface ImportRunDeps<Draft> {
  /** Applies a change to the ledger, as one revision. */
  readonly change: <T>(
    caller: ArchiveCaller,
    decide: (draft: Draft) => Promise<T>,
    options: { readonly dryRun: boolean },
  ) => Promise<{ readonly result: T; readonly revision: number }>;
  /** The newest revision of the ledger. */
  readonly revision: () => number;
}

/** Part of an import with its entries. */
export interface Planned<Draft> {
  readonly part: ArchivePart<Draft>;
  readonly given: GivenEntries;
}

/**
 * Imports parts in their order; consecutive parts of the ledger in one change.
 *
 * @throws the error of a part; after something was written, with the names of what is complete.
 */
export async function runImport<Draft>(
  { change, revision: current }: ImportRunDeps<Draft>,
  planned: readonly Planned<Draft>[],
  { renew, ...run }: ImportContext & { readonly renew: () => Promise<void> },
): Promise<{ readonly revision: number; readonly results: readonly PartResult[] }> {
  const { caller, dryRun, signal } = run;
  const problems = createRefusals();
  const collect: typeof problems.collect =
    run.choices.declared === undefined ? (_part, _given, work) => work() : problems.collect;
  const results: PartResult[] = [];
  const progress: Progress = { done: [], running: [], stored: new Map() };
  /** Whether the import has replaced the token of its caller, who is root. */
  let endsCaller = false;
  let revision = current();
  const context: ImportContext = {
    ...run,
    onStored: (name) => {
      for (const part of progress.running)
        progress.stored.set(part, (progress.stored.get(part) ?? new Set()).add(name));
    },
  };
  const begin = async (names: readonly string[]): Promise<void> => {
    progress.running = names;
    progress.stored.clear();
    signal?.throwIfAborted();
    if (!endsCaller) await renew();
  };
  const add = ({ part: { name } }: Planned<Draft>, found: readonly EntryResult[]): void => {
    results.push(...found.map((result) => ({ ...result, part: name })));
  };
  try {
    for (const step of stepsOf(planned)) {
      await begin(step.names);
      if (step.kind === "store") {
        const { part, planned: each } = step;
        add(each, await collect(part, each.given, () => part.write(each.given, context)));
      } else {
        const changed = await change(
          caller,
          async (draft) => {
            const found: [Planned<Draft>, readonly EntryResult[]][] = [];
            for (const { part, planned: each } of step.parts)
              found.push([
                each,
                await collect(part, each.given, () => part.decide(draft, each.given, context)),
              ]);
            // Nothing is committed. A dry run collects also what the other parts refuse.
            if (!dryRun) problems.refuse();
            return found;
          },
          { dryRun },
        );
        revision = changed.revision;
        for (const [each, found] of changed.result) add(each, found);
        endsCaller ||= results.some((result) => result.endsCaller === true);
      }
      progress.done.push(...step.names);
    }
    problems.refuse();
    if (!dryRun)
      for (const { part, given } of planned)
        if (part.kind === "store" && part.complete !== undefined) {
          await begin([part.name]);
          await part.complete(given, context);
        }
    return { revision, results };
  } catch (error) {
    const isKnown = error instanceof ServiceError || error instanceof LocalizableError;
    throw dryRun || !isKnown ? error : incomplete(planned, progress, error);
  }
}

/** Maximum number of entries that an error names. */
const MAX_NAMED = 20;

/** Progress of an import. */
interface Progress {
  /** Names of the parts that were written. */
  readonly done: string[];
  /** Parts of the present step. */
  running: readonly string[];
  /** Entries that this step has stored by themselves, by the names of their parts. */
  readonly stored: Map<string, Set<string>>;
}

/**
 * Error of an import that has stored something: what, and what the same import still has to store.
 *
 * @returns the error itself if nothing is stored.
 */
function incomplete<Draft>(
  planned: readonly Planned<Draft>[],
  { done, running, stored }: Progress,
  error: ServiceError | LocalizableError,
): ServiceError | LocalizableError {
  const left = planned.map(({ part }) => part.name).filter((name) => !done.includes(name));
  /** Name of a part, with its stored entries if it is not complete. */
  const named = (name: string): string => {
    const entries = running.includes(name) ? [...(stored.get(name) ?? [])] : [];
    if (entries.length === 0) return name;
    const more = entries.length > MAX_NAMED ? ", …" : "";
    return `${name} (${entries.slice(0, MAX_NAMED).join(", ")}${more})`;
  };
  const begun = running.filter((name) => !done.includes(name) && stored.has(name));
  const written = [...done, ...begun].map(named);
  if (written.length === 0) return error;
  return new ServiceError(
    error.code,
    message("IMPORT_INCOMPLETE", {
      done: written.join(", "),
      left: left.length === 0 ? done.join(", ") : left.join(", "),
      problem: error.text,
    }),
    { violations: error.violations, cause: error },
  );
}

type Step<Draft> =
  | {
      readonly kind: "store";
      readonly names: readonly string[];
      readonly part: Extract<ArchivePart<Draft>, { kind: "store" }>;
      readonly planned: Planned<Draft>;
    }
  | {
      readonly kind: "ledger";
      readonly names: string[];
      readonly parts: {
        readonly part: Extract<ArchivePart<Draft>, { kind: "ledger" }>;
        readonly planned: Planned<Draft>;
      }[];
    };

function stepsOf<Draft>(planned: readonly Planned<Draft>[]): Step<Draft>[] {
  const steps: Step<Draft>[] = [];
  for (const each of planned) {
    const { part } = each;
    const last = steps.at(-1);
    if (part.kind === "store")
      steps.push({ kind: "store", names: [part.name], part, planned: each });
    else if (last?.kind === "ledger") {
      last.names.push(part.name);
      last.parts.push({ part, planned: each });
    } else steps.push({ kind: "ledger", names: [part.name], parts: [{ part, planned: each }] });
  }
  return steps;
}
