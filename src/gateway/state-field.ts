import { type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { createFieldSetter, type FieldSetter, findField } from "./field-path.ts";
import { refuseRule } from "./rule.ts";
import { integerRange } from "./value-type.ts";

/** A request field that a header fills with the state a client has seen. */
export interface StateField {
  /** The field keeps an integer (as bigint), not text. */
  readonly numeric: boolean;
  readonly set: FieldSetter;
}

/**
 * The request field that an option (if_match, last_event_id) names.
 *
 * @throws RuleError unless it is an optional 64-bit integer or string.
 */
export function findStateField(method: DescMethod, option: string, name: string): StateField {
  const field = findField(method.input, name);
  if (!field) return refuseRule(method, `${option} "${name}" is no field of the request`);
  const numeric = field.fieldKind === "scalar" && integerRange(field.scalar)?.wide === true;
  const text = field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;
  if (!(numeric && !field.longAsString) && !text) {
    refuseRule(method, `${option} "${name}" must be a 64-bit integer or a string`);
  }
  if (field.presence === FeatureSet_FieldPresence.IMPLICIT) {
    refuseRule(method, `${option} "${name}" must be optional: 0 is a state, absent is none`);
  }
  return { numeric, set: createFieldSetter([field]) };
}
