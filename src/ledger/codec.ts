import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createSealer, type Sealer } from "../secrets/sealer.ts";
import type { AnyRules, Item } from "./kind.ts";
import { NO_SECRETS } from "./kind.ts";
import type { PartTexts, RecordName, StoredRecord } from "./store.ts";

/** Converts items to records and back; secret parts are sealed in records and hashed in the history. */
export interface Codec {
  /** @throws Error for a kind that the ledger does not have. */
  rules(kind: string): AnyRules;
  /** Name of a record where records of all kinds are listed. */
  nameOf(record: RecordName): string;
  toStored(kind: string, item: Item): StoredRecord;
  fromStored(record: StoredRecord): Item;
  /** Whether a sealing key is configured. */
  readonly seals: boolean;
  isSealed(record: StoredRecord): boolean;
  /** Reports whether a record must be written again to seal its secrets with the current key. */
  needsReseal(record: StoredRecord): boolean;
  /** Public names of the keys of the secret parts of a record, `clear` for unsealed ones. */
  sealedBy(record: StoredRecord): readonly string[];
  /** Hashes that replace secret parts in the history; null: there are none. */
  hashes(secrets: PartTexts): PartTexts | null;
}

/** Sealer without keys: escapes values that look like sealed ones. */
const unsealed = createSealer([]);

export function createCodec({
  kinds,
  sealer,
  fingerprint,
}: {
  readonly kinds: readonly AnyRules[];
  readonly sealer: Sealer;
  readonly fingerprint: Pick<Fingerprint, "of">;
}): Codec {
  const byName = new Map(kinds.map((rules) => [rules.kind.name, rules]));
  const rulesOf = (kind: string): AnyRules => {
    const rules = byName.get(kind);
    if (rules === undefined) throw new Error(`the ledger has no records of the kind ${kind}`);
    return rules;
  };
  const nameOf = ({ kind, key }: RecordName): string => `${rulesOf(kind).prefix}${key}`;
  const isExposed = (record: StoredRecord): boolean => rulesOf(record.kind).isExposed(record);
  return {
    rules: rulesOf,
    nameOf,
    toStored: (kind, item) => {
      const rules = rulesOf(kind);
      const key = rules.keyOf(item);
      const { body, attributes, secrets } = rules.encode(item);
      const { seal } = sealer.seals ? sealer : unsealed;
      return {
        kind,
        key,
        body,
        attributes,
        secrets: mapParts(secrets, (text, part) => seal(placeOf(kind, key, part), text)),
        position: rules.positionOf(item),
        revision: item.revision,
      };
    },
    fromStored: (record) => {
      const { kind, key } = record;
      const secrets = mapParts(record.secrets, (text, part) =>
        sealer.open(placeOf(kind, key, part), text, nameOf(record)),
      );
      return rulesOf(kind).decode({ ...record, secrets });
    },
    seals: sealer.seals,
    isSealed: ({ secrets }) => Object.values(secrets).some(sealer.isSealed),
    needsReseal: (record) =>
      sealer.seals && (isExposed(record) || Object.values(record.secrets).some(sealer.needsReseal)),
    sealedBy: (record) => [
      ...Object.values(record.secrets).map((text) => sealer.keyOf(text) ?? "clear"),
      ...(isExposed(record) ? ["clear"] : []),
    ],
    hashes: (secrets) => hashParts(secrets, fingerprint),
  };
}

/** Place to which a sealed text is bound: it does not open in another record or part. */
function placeOf(kind: string, key: string, part: string): string {
  return JSON.stringify([kind, key, part]);
}

function mapParts(parts: PartTexts, map: (text: string, part: string) => string): PartTexts {
  if (parts === NO_SECRETS) return parts;
  return Object.fromEntries(Object.entries(parts).map(([part, text]) => [part, map(text, part)]));
}

/** Hashes that replace secret parts in the history; null: there are none. */
export function hashParts(secrets: PartTexts, { of }: Pick<Fingerprint, "of">): PartTexts | null {
  if (secrets === NO_SECRETS || Object.keys(secrets).length === 0) return null;
  return mapParts(secrets, (text) => of(text));
}
