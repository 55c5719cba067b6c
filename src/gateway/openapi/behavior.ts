import type { DescField } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";

/** Number of the option google.api.field_behavior (google/api/field_behavior.proto). */
const FIELD_BEHAVIOR = 1052;

/** Values of google.api.FieldBehavior that a document shows. */
const REQUIRED = 2;
const OUTPUT_ONLY = 3;
const INPUT_ONLY = 4;
const IMMUTABLE = 5;

/** Behavior of a field, as its options say it. */
export interface Behavior {
  /** Requests must have it. */
  readonly required: boolean;
  /** Set by the service only. */
  readonly outputOnly: boolean;
  /** Never in a reply. */
  readonly inputOnly: boolean;
  /** Cannot be changed once it is set. */
  readonly immutable: boolean;
}

/** The behavior of a field (AIP-203), or of proto2's `required`. */
export function behaviorOf(field: DescField): Behavior {
  const values = new Set(
    (field.proto.options?.$unknown ?? [])
      .filter(({ no }) => no === FIELD_BEHAVIOR)
      .flatMap(({ wireType, data }) => readValues(wireType, data)),
  );
  return {
    required: values.has(REQUIRED) || isLegacyRequired(field),
    outputOnly: values.has(OUTPUT_ONLY),
    inputOnly: values.has(INPUT_ONLY),
    immutable: values.has(IMMUTABLE),
  };
}

export function isLegacyRequired(field: DescField): boolean {
  return field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED;
}

/** A repeated enum is one value per occurrence, or packed. */
function readValues(wireType: WireType, data: Uint8Array): number[] {
  const reader = new BinaryReader(data);
  if (wireType === WireType.Varint) return [reader.int32()];
  const values: number[] = [];
  const end = reader.uint32() + reader.pos;
  while (reader.pos < end) values.push(reader.int32());
  return values;
}
