import { errorText } from "../error-text.ts";
import { CliFailure, EXIT } from "./failure.ts";
import type { Output } from "./output.ts";

/**
 * Writes a secret that the service shows only once.
 *
 * @param secret.what names it for the message. @param secret.remedy what to do if it is lost.
 * @throws CliFailure (failed) when the reader of the output has gone, or the write fails.
 */
export async function showOnce(
  output: Output,
  secret: { readonly what: string; readonly remedy: string },
  write: () => Promise<void>,
): Promise<void> {
  let reason = "the reader of the output has gone";
  try {
    await write();
    if (!output.isClosed) return;
  } catch (error) {
    reason = errorText(error);
  }
  throw new CliFailure(EXIT.failed, `${secret.what} is lost (${reason}): ${secret.remedy}`);
}
