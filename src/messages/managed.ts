import { failedPrecondition } from "./error.ts";
import { message, type Text } from "./message.ts";

/**
 * Rejects a change of a record that a file declares.
 *
 * @param name key or name of the record.
 * @param file that manages it; undefined: none.
 * @throws FAILED_PRECONDITION naming the file.
 */
export function checkManaged(name: Text, file: string | undefined): void {
  if (file !== undefined) throw failedPrecondition(message("SETTING_MANAGED", { key: name, file }));
}
