import { Code } from "@connectrpc/connect";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import { entryProblem } from "../messages/entry-problem.ts";
import { ServiceError } from "../messages/error.ts";
import { joinTexts, message } from "../messages/message.ts";
import { PathIndex } from "../sites/path-index.ts";
import { createTicks } from "../ticks.ts";
import type { RecordIndex, SiteKind, SiteRecord } from "./kind.ts";

/** Saves inputs of one kind on a draft. */
export interface Saver<R extends SiteRecord, I> {
  readonly keyOf: (input: I) => string;
  /** Saves all inputs or none. @param records all records of the draft; updated. */
  save(inputs: readonly I[], records: RecordIndex<R>): Promise<readonly RecordResult[]>;
  /** Adds notes about the input's source to a result. */
  noted(result: RecordResult, input: I): RecordResult;
}

/**
 * Saves all inputs together, so that records can exchange their paths; if one is rejected, each by
 * itself.
 *
 * @returns the results in the order of the inputs. @throws PERMISSION_DENIED.
 */
export async function saveAll<R extends SiteRecord, I>(
  kind: SiteKind<R>,
  saver: Saver<R, I>,
  inputs: readonly I[],
  records: RecordIndex<R>,
): Promise<readonly RecordResult[]> {
  if (inputs.length === 0) return [];
  try {
    const results = await saver.save(inputs, new PathIndex(records));
    return results.map((result, at) => saver.noted(result, inputs[at] as I));
  } catch (error) {
    if (!isSkippable(error)) throw error;
    return saveEach(kind, saver, inputs, records);
  }
}

/**
 * Saves each input by itself. An input that is rejected is skipped, with the reason.
 *
 * @param records all records of the draft; updated. @param nameOf name of a skipped input.
 * @returns the results in the order of the inputs. @throws PERMISSION_DENIED.
 */
export async function saveEach<R extends SiteRecord, I>(
  kind: SiteKind<R>,
  saver: Saver<R, I>,
  inputs: readonly I[],
  records: RecordIndex<R>,
  nameOf: (input: I) => string = saver.keyOf,
): Promise<readonly RecordResult[]> {
  const ticks = createTicks();
  const results: RecordResult[] = [];
  const saved = new Set<string>();
  for (const input of inputs) {
    if (ticks.isDue()) await ticks.next();
    const key = saver.keyOf(input);
    if (saved.has(key)) {
      const problem = kind.texts.repeated(kind.keyField, key);
      results.push(resultAs(nameOf(input), "skipped", problem));
      continue;
    }
    const before = records.get(key);
    try {
      const [result] = await saver.save([input], records);
      results.push(saver.noted(result as RecordResult, input));
      saved.add(key);
    } catch (error) {
      if (before === undefined) records.delete(key);
      else records.set(key, before);
      if (!isSkippable(error)) throw error;
      const problem = entryProblem(error, `${kind.plural}[0].`);
      results.push(resultAs(nameOf(input), "skipped", problem));
    }
  }
  return results;
}

function isSkippable(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code !== Code.PermissionDenied;
}

/**
 * Adds notes about the source of a saved record to its result.
 *
 * @param source.lost fields of secrets that the source omits, and the record lacks.
 * @param source.leftOut names of values that the record does not keep.
 * @param source.kept names of values that are not taken, because stored secrets stay.
 * @param source.newer names of items that keep their values, because servers refresh them.
 */
export function withSourceNotes<R extends SiteRecord>(
  { texts }: SiteKind<R>,
  result: RecordResult,
  {
    lost,
    leftOut,
    kept,
    newer = [],
  }: {
    readonly lost: readonly string[];
    readonly leftOut: readonly string[];
    readonly kept: readonly string[];
    readonly newer?: readonly string[];
  },
): RecordResult {
  const isIncomplete = result.outcome !== "unchanged" && lost.length > 0;
  return {
    ...result,
    leftOut,
    kept,
    note: joinTexts([
      isIncomplete ? texts.secretsOmitted(lost.join(", ")) : "",
      result.note,
      newer.length > 0 ? message("REFRESHED_KEPT", { items: newer.join(", ") }) : "",
      leftOut.length > 0 ? message("LEFT_OUT", { names: leftOut.join(", ") }) : "",
    ]),
  };
}
