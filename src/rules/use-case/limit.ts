import { invalid } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";

/** Maximum number of rules in a request. */
export const MAX_REQUEST = 500;

/** @throws INVALID_ARGUMENT for more than 500 paths. */
export function checkPaths({ length }: readonly string[]): void {
  if (length <= MAX_REQUEST) return;
  throw invalid([
    { field: "paths", description: message("GIVE_FROM_1", { field: "paths", most: MAX_REQUEST }) },
  ]);
}

/** @throws INVALID_ARGUMENT unless there are 1 to 500 paths. */
export function requirePaths(paths: readonly string[]): void {
  if (paths.length === 0)
    throw invalid([
      {
        field: "paths",
        description: message("GIVE_FROM_1", { field: "paths", most: MAX_REQUEST }),
      },
    ]);
  checkPaths(paths);
}
