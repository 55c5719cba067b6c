import { Code } from "@connectrpc/connect";
import { ServiceError, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { StoreError } from "./error.ts";

/** Error of a failed write: RESOURCE_EXHAUSTED for a full disk, else UNAVAILABLE. */
export function writeFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const code = error.failure === "full" ? Code.ResourceExhausted : Code.Unavailable;
  const id = error.failure === "unsure" ? "SAVE_UNSURE" : "SAVE_FAILED";
  return new ServiceError(code, message(id, { reason: error.message }), { cause: error });
}

/** Converts the failure of a write by {@link writeFailure}. */
export async function mapWriteError<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    throw writeFailure(error);
  }
}

/** UNAVAILABLE: it is unknown whether a token is still valid. */
export function freshFailure(error: StoreError): ServiceError {
  return unavailable(message("TOKEN_STATE_UNKNOWN", { reason: error.message }), error);
}

/** UNAVAILABLE: a change is saved, and it is unknown whether every instance applies it. */
export function seenFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  return unavailable(message("OLD_TOKEN_MAY_HOLD", { reason: error.message }), error);
}

/** Data that is read from the database for each call. */
type Kept = "history" | "audit";

/** UNAVAILABLE for a failed read. */
export function readFailure(error: unknown, what: Kept = "history"): unknown {
  if (!(error instanceof StoreError)) return error;
  return unavailable(message("STORE_UNREADABLE", { what, reason: error.message }), error);
}

/** Converts the failure of a read of the history or the audit by {@link readFailure}. */
export async function mapReadError<T>(reading: Promise<T>, what?: Kept): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw readFailure(error, what);
  }
}
