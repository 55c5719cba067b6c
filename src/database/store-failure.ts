import { Code } from "@connectrpc/connect";
import { ServiceError, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { StoreError } from "./error.ts";

/** A failed write, as a client may learn of it: RESOURCE_EXHAUSTED for a full disk, or UNAVAILABLE. */
export function writeFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const code = error.failure === "full" ? Code.ResourceExhausted : Code.Unavailable;
  const id = error.failure === "unsure" ? "SAVE_UNSURE" : "SAVE_FAILED";
  return new ServiceError(code, message(id, { reason: error.message }), { cause: error });
}

/** It can't be known whether a right still holds: UNAVAILABLE. */
export function freshFailure(error: StoreError): ServiceError {
  return unavailable(message("TOKEN_STATE_UNKNOWN", { reason: error.message }), error);
}

/** A change is saved, and it can't be known whether every instance goes by it: UNAVAILABLE. */
export function seenFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  return unavailable(message("OLD_TOKEN_MAY_HOLD", { reason: error.message }), error);
}

/** Data that is not in memory. */
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
