import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";

/** Maximum number of records of a kind, here and on a server. */
export const MAX_RECORDS = 10_000;
/** Maximum number of records in a request. */
export const MAX_REQUEST = 500;
/** Maximum number of records that an audit row names. */
export const MAX_SUBJECTS = 100;

/** @throws INVALID_ARGUMENT for more than 500 keys. */
export function checkKeys(field: string, { length }: readonly string[]): void {
  if (length > MAX_REQUEST) throw countInvalid(field);
}

/** @throws INVALID_ARGUMENT unless there are 1 to 500 keys. */
export function requireKeys(field: string, { length }: readonly string[]): void {
  if (length === 0 || length > MAX_REQUEST) throw countInvalid(field);
}

function countInvalid(field: string) {
  const description = message("GIVE_FROM_1", { field, most: MAX_REQUEST });
  return invalid([{ field, description }]);
}

/** @throws INVALID_ARGUMENT unless a save has 1 to 500 records. */
export function checkInputs(field: string, { length }: readonly unknown[]): void {
  if (length > 0 && length <= MAX_REQUEST) return;
  const description =
    length === 0
      ? message("GIVE_AT_LEAST_ONE", { field })
      : message("TOO_MANY_ENTRIES", { field, most: MAX_REQUEST });
  throw invalid([{ field, description }]);
}
