import { invalid } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";

/** Maximum number of mounts in a request. */
export const MAX_REQUEST = 500;
/** Maximum number of mounts that an audit row names. */
export const MAX_SUBJECTS = 100;

/** @throws INVALID_ARGUMENT unless there are 1 to 500 names. */
export function checkNames({ length }: readonly string[]): void {
  if (length > 0 && length <= MAX_REQUEST) return;
  throw invalid([
    { field: "names", description: message("GIVE_FROM_1", { field: "names", most: MAX_REQUEST }) },
  ]);
}
