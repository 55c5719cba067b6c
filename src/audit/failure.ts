import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";

/** OUT_OF_RANGE: the row after `after` is no longer kept. */
export function forgotten(after: number, oldest: number): ServiceError {
  return outOfRange(message("AUDIT_ROWS_FORGOTTEN", { row: after, oldest }));
}

export function outOfRange(text: Text): ServiceError {
  return new ServiceError(Code.OutOfRange, text);
}
