import { Code } from "@connectrpc/connect";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import { NO_RECORD } from "../ledger/record-etag.ts";
import { invalid, ServiceError, type Violation } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { joinTexts, message, type Text } from "../messages/message.ts";
import { findClash } from "../sites/path-index.ts";
import { pathsOf } from "../sites/site-choice.ts";
import { createTicks } from "../ticks.ts";
import type { RecordEtag } from "./etag.ts";
import type { RecordIndex, SiteKind, SiteRecord } from "./kind.ts";
import { MAX_RECORDS } from "./limit.ts";
import type { RecordSaveRules } from "./save-rules.ts";
import { otherRecord } from "./text.ts";

/** Maximum number of violations in a reply. */
const MAX_VIOLATIONS = 100;
/** Maximum number of problems in a note. */
const MAX_WARNINGS = 10;

/** Record of a save. */
export interface CheckedRecord<R> {
  readonly record: R;
  /** Index of the record in the request. */
  readonly number: number;
}

/** Checks of one save that are the same for all kinds of records. Collects the violations of all inputs. */
export class SaveCheck<R extends SiteRecord> {
  readonly #kind: SiteKind<R>;
  readonly #records: RecordIndex<R>;
  readonly #rules: RecordSaveRules<R>;
  readonly #violations: Violation[] = [];
  readonly #keys = new Set<string>();

  /** @param records all records of the draft, which has the saved ones when `finish` is called. */
  constructor(kind: SiteKind<R>, records: RecordIndex<R>, rules: RecordSaveRules<R>) {
    this.#kind = kind;
    this.#records = records;
    this.#rules = rules;
  }

  /**
   * Current record of an input, which the caller may change.
   *
   * @param number index of the input. @param expectedEtag undefined: any.
   * @throws PERMISSION_DENIED; FAILED_PRECONDITION; ABORTED; ALREADY_EXISTS.
   */
  before(number: number, key: string, expectedEtag: string | undefined): R | undefined {
    const { managedBy, etagOf } = this.#rules;
    const { texts, keyField } = this.#kind;
    const before = this.#records.get(key);
    if (before !== undefined) this.requireAllowed(before);
    checkManaged(key, managedBy(key));
    if (this.#keys.has(key)) {
      const field = `${this.#fieldOf(number)}${keyField}`;
      this.#violations.push({ field, description: texts.repeated(field, key) });
    }
    this.#keys.add(key);
    checkExpected(this.#kind, before, key, { etagOf, expected: expectedEtag });
    return before;
  }

  /** Adds the violations of an input. @returns whether there are none. */
  accepts(violations: readonly Violation[]): boolean {
    this.#violations.push(...violations);
    return violations.length === 0;
  }

  /** @throws PERMISSION_DENIED for a record with a path outside of the caller's limits. */
  requireAllowed(record: R): void {
    if (!pathsOf(record).every(this.#rules.allows)) this.#rules.refuse();
  }

  /**
   * Checks the saved records beside all others.
   *
   * @throws INVALID_ARGUMENT with every violation; RESOURCE_EXHAUSTED.
   */
  async finish(saved: readonly CheckedRecord<R>[]): Promise<void> {
    const ticks = createTicks();
    for (const each of saved) {
      if (ticks.isDue()) await ticks.next();
      this.#checkPath(each);
    }
    const [first, ...rest] = this.#violations.slice(0, MAX_VIOLATIONS);
    if (first !== undefined) throw invalid([first, ...rest]);
    const { size: count } = this.#records;
    if (count > MAX_RECORDS)
      throw new ServiceError(Code.ResourceExhausted, this.#kind.texts.tooMany(count, MAX_RECORDS));
  }

  /** Adds a violation for a record with the path of another one on a site. */
  #checkPath({ record, number }: CheckedRecord<R>): void {
    const { sites, allows } = this.#rules;
    const { keyOf, texts, pathField } = this.#kind;
    const clash = findClash(keyOf(record), record, this.#records, sites.ids);
    if (clash === undefined) return;
    const { other } = clash;
    const whose = otherRecord(texts, keyOf(other), pathsOf(other).every(allows));
    const where =
      clash.site === undefined ? "" : message("ON_SITE", { site: sites.nameOf(clash.site) });
    const field = `${this.#fieldOf(number)}${pathField}`;
    this.#violations.push({
      field,
      description: message("PATH_OF_ANOTHER", { field, whose, where }),
    });
  }

  #fieldOf(number: number): string {
    return `${this.#kind.plural}[${number}].`;
  }
}

/**
 * Checks the expected etag of a record.
 *
 * @param options.expected undefined: any. @throws ABORTED; ALREADY_EXISTS.
 */
export function checkExpected<R extends SiteRecord>(
  { texts }: SiteKind<R>,
  before: R | undefined,
  key: string,
  { etagOf, expected }: { readonly etagOf: RecordEtag<R>; readonly expected: string | undefined },
): void {
  if (expected === undefined || expected === etagOf(before)) return;
  if (before === undefined) throw new ServiceError(Code.Aborted, texts.deleted(key));
  if (expected === NO_RECORD) throw new ServiceError(Code.AlreadyExists, texts.exists(key));
  const text = texts.changed(key, before.revision, expected.slice(0, 60));
  throw new ServiceError(Code.Aborted, text);
}

/** Note that names the problems of values that are taken as their source has them; empty: none. */
export function warningNote(warnings: readonly Text[]): Text {
  if (warnings.length === 0) return "";
  return message("TAKEN_AS_IT_IS", { problems: joinTexts(warnings.slice(0, MAX_WARNINGS)) });
}

/**
 * Result of a saved record.
 *
 * @param before undefined: it is new. @param differsFrom names of the members that differ.
 */
export function savedResult<R>(
  key: string,
  note: Text,
  before: R | undefined,
  isChanged: boolean,
  differsFrom: (before: R) => readonly string[],
): RecordResult {
  if (before === undefined) return resultAs(key, "created", note);
  if (!isChanged) return resultAs(key, "unchanged", note);
  return resultAs(key, "changed", note, { differs: differsFrom(before) });
}
