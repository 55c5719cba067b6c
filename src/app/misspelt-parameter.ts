import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import { nearest } from "../suggestion.ts";

/** Fields that restrict what a call does: without them it would do more than its client asked. */
const RESTRICTING = ["dry_run", "expected_etag", "expected_revision", "mask_secrets", "only"];

/** Shortest name that is compared: pages add short ones of their own, such as `_` or `t`. */
const SHORTEST = 3;

/**
 * Refuses a query parameter that a call would ignore although its client means a field of it. For a
 * call that changes something this is a misspelt name, a field of the body, or a restriction that
 * the call does not have; for a read, a misspelt restriction. Other unknown parameters are ignored,
 * as legacy clients expect.
 *
 * @returns the problem; undefined: the parameter is ignored.
 */
export function misspeltParameter(parameter: {
  readonly name: string;
  readonly method: DescMethod;
  readonly isWrite: boolean;
  readonly isTaken: boolean;
}): string | undefined {
  const { name, method, isWrite, isTaken } = parameter;
  if (isTaken) return isWrite ? "this field is a member of the body" : undefined;
  if (letters(name).length < SHORTEST) return undefined;
  const fields = method.input.fields.map((field) => field.name);
  const [field] = nearest(name, fields).filter(
    (one) => letters(one).length >= SHORTEST && (isWrite || RESTRICTING.includes(one)),
  );
  if (field !== undefined) return `no such parameter; did you mean ${field}?`;
  const [restriction] = isWrite ? nearest(name, RESTRICTING) : [];
  return restriction === undefined ? undefined : `${method.name} has no ${restriction}`;
}

/**
 * Refuses a member of a JSON body that is close to a restriction of its message, such as `dry-run`:
 * the call would be made without it. Other unknown members are ignored, as legacy clients expect.
 *
 * @returns the problem; undefined: the member is ignored.
 */
export function misspeltMember({
  name,
  message,
}: {
  readonly name: string;
  readonly message: DescMessage;
}): string | undefined {
  const restrictions = message.fields.map((field) => field.name).filter(isRestricting);
  const [restriction] = letters(name).length < SHORTEST ? [] : nearest(name, restrictions);
  return restriction === undefined ? undefined : `no such member; did you mean ${restriction}?`;
}

function isRestricting(field: string): boolean {
  return RESTRICTING.includes(field);
}

function letters(name: string): string {
  return name.replace(/[^a-z0-9]/giu, "");
}
