import { Code } from "@connectrpc/connect";
import { ServiceError } from "../error.ts";

/** INVALID_ARGUMENT: what was handed in is no backup that can be read. Never quotes its content. */
export function unreadable(message: string): ServiceError {
  return new ServiceError(Code.InvalidArgument, message);
}
