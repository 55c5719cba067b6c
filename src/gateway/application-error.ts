import { Code, ConnectError } from "@connectrpc/connect";

/** Message of an error that is masked for clients. */
const MASKED = "internal error";

/** An error of the application that defines its form for clients. */
export interface ApplicationError extends Error {
  toConnectError(): ConnectError;
}

/** Reports whether an error is one of the application. */
export function isApplicationError(error: unknown): error is ApplicationError {
  return error instanceof Error && "toConnectError" in error;
}

/**
 * Converts any thrown value to an error for clients. An ApplicationError converts itself; an
 * unknown error is masked, with its cause kept for the log.
 */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (isApplicationError(error)) return error.toConnectError();
  return new ConnectError(MASKED, Code.Internal, undefined, undefined, error);
}
