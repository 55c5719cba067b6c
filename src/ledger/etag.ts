import { Code } from "@connectrpc/connect";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { LedgerStore } from "../ledger/store.ts";
import { errorDetails } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { Fault } from "../transport/body.ts";

/** Revision with the random mark of its commit. */
interface Marked {
  readonly revision: number;
  readonly mark?: string | undefined;
}

/**
 * Identifies the records at a revision, `42.0123456789abcdef`: the number with the random mark of
 * its commit. A database that was put back to an older state gives the numbers after it again, with
 * other marks. Revision 0, at which nothing is stored, has no mark.
 */
export function etagOf({ revision, mark = "" }: Marked): string {
  return mark === "" ? String(revision) : `${revision}.${mark}`;
}

/** Reads an etag; undefined: it is not one. */
export function readEtag(text: string): Marked | undefined {
  const [, digits, mark = ""] = /^(\d{1,15})(?:\.([0-9a-f]{16}))?$/.exec(text) ?? [];
  return digits === undefined ? undefined : { revision: Number(digits), mark };
}

/**
 * The state that a client relies on is not one of this database: it was restored from a copy, or
 * the history no longer has the revision. HTTP 412.
 */
class StateUnknown extends Fault {
  override readonly envelopeCode = 412;
  readonly text: Message;
  readonly violations = [];

  constructor(etag: string) {
    const text = message("ETAG_UNKNOWN", { etag: etag.slice(0, 60) });
    super(String(text), Code.Aborted, undefined, errorDetails(text, []));
    this.text = text;
  }
}

/** The revisions of this database, by etag. */
export interface Line {
  /** Revision of an etag; undefined: it is not a state of this database, as far as its history shows. */
  find(etag: string): Promise<number | undefined>;
  /** Like find. @throws ABORTED (HTTP 412) instead of undefined. */
  require(etag: string): Promise<number>;
  /** Reports whether the history no longer has a revision because it is too old. */
  isForgotten(revision: number): Promise<boolean>;
  /** Etag of a revision in the history; the number alone if it is no longer kept. */
  at(revision: number): Promise<string>;
}

export function createLine(deps: {
  readonly store: Pick<LedgerStore, "markOf" | "oldestRevision">;
  readonly snapshot: () => Snapshot;
}): Line {
  const { store, snapshot } = deps;
  const find = async (etag: string): Promise<number | undefined> => {
    if (etag === etagOf(snapshot())) return snapshot().revision;
    const asked = readEtag(etag);
    if (asked === undefined) return undefined;
    const mark = asked.revision === 0 ? "" : await store.markOf(asked.revision);
    return mark === asked.mark ? asked.revision : undefined;
  };
  return {
    find,
    require: async (etag) => {
      const revision = await find(etag);
      if (revision === undefined) throw new StateUnknown(etag);
      return revision;
    },
    isForgotten: async (revision) => revision < (await store.oldestRevision()),
    at: async (revision) => etagOf({ revision, mark: await store.markOf(revision) }),
  };
}

/** The revision that a request expects; undefined: none. @throws ABORTED as `require`. */
export async function expectedRevision(
  line: Pick<Line, "require">,
  { expectedEtag }: { readonly expectedEtag?: string | undefined },
): Promise<number | undefined> {
  return expectedEtag === undefined ? undefined : line.require(expectedEtag);
}
