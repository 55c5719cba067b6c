import type { KindRules, Parts } from "../ledger/kind.ts";
import { bytesOfParts, isSameParts } from "../ledger/parts.ts";
import type { StoredRecord } from "../ledger/store.ts";
import type { SiteNames } from "../sites/site-names.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";
import { placeOf } from "./secret-place.ts";
import { shownParts } from "./shown-secret.ts";
import { allowsChange } from "./stored-change.ts";
import { secretSubject, subjectOf } from "./subject.ts";

export interface RecordForm<R> {
  readonly encode: (record: R) => Parts;
  readonly decode: (stored: StoredRecord) => R;
  /** Names of sites, for the audit. */
  readonly sites: () => Pick<SiteNames, "nameOf">;
}

/** Rules of a kind of records of sites in the ledger. */
export function recordRules<R extends SiteRecord>(
  kind: SiteKind<R>,
  { sites, ...form }: RecordForm<R>,
): KindRules<R> {
  // The parts of a record are needed up to three times: by its draft, the history and the database.
  // Those of a stored one stay as they are stored, whatever decides today which items are secret.
  const known = new WeakMap<R, Parts>();
  const encode = (record: R): Parts => {
    const parts = known.get(record) ?? form.encode(record);
    known.set(record, parts);
    return parts;
  };
  return {
    kind: kind.token,
    prefix: subjectOf(kind, ""),
    keyOf: kind.keyOf,
    positionOf: () => 0,
    encode,
    decode: (stored) => {
      const record = form.decode(stored);
      known.set(record, stored);
      return record;
    },
    subjectsOf: (change) => [
      subjectOf(kind, change.key),
      ...shownParts(kind, change).map((part) => {
        const { site, item } = placeOf(part);
        const name = site === "" ? undefined : sites().nameOf(site);
        return secretSubject(kind, change.key, item, name);
      }),
    ],
    historyAttributes: (record) => encode(record).attributes,
    isSame: (a, b) => isSameParts(encode(a), encode(b)),
    amountsOf: (record) => ({ bytes: bytesOfParts(kind.keyOf(record), encode(record)) }),
    known: [],
    absent: () => undefined,
    canReadChange: (grant, change) =>
      grant.has(`${kind.plural}:read`) && allowsChange(kind, grant, change),
    isExposed: () => false,
    isUrgent: () => false,
  };
}
