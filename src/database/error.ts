import { Code, type ConnectError } from "@connectrpc/connect";
import { ServiceError, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";

/**
 * Kind of a database failure, by the possible action of a caller.
 * - `unusable`: no database of Mooring can be opened at this place, or this user may not write
 *   it.
 * - `busy`: another program has held the lock for longer than the wait.
 * - `full`: the disk is full.
 * - `away`: the server reports that it is unavailable, so it is for all clients.
 * - `unsure`: the server did not answer, or the connection broke. Other clients may reach it, and
 *   the statement may have been executed.
 * - `taken`: another row has the same value of a unique column.
 * - `failed`: reading or writing failed; check the file, the disk or the server.
 */
export type StoreFailure = "unusable" | "busy" | "full" | "away" | "unsure" | "taken" | "failed";

/** Failure of the store, with a sentence about the action to take. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.failure = failure;
  }

  /**
   * The error for clients of any call that needs the database: RESOURCE_EXHAUSTED for a full disk,
   * else UNAVAILABLE. Services throw a ServiceError where more is known, such as that nothing was
   * saved.
   */
  toConnectError(): ConnectError {
    return callFailure(this).toConnectError();
  }
}

function callFailure(error: StoreError): ServiceError {
  const id = error.failure === "unsure" ? "CALL_UNSURE" : "CALL_WITHOUT_DATABASE";
  return new ServiceError(codeOf(error), message(id, { reason: error.message }), { cause: error });
}

function codeOf({ failure }: StoreError): Code {
  return failure === "full" ? Code.ResourceExhausted : Code.Unavailable;
}

/** Replaces the failure `taken` of a write by a result. */
export async function unlessTaken<T>(writing: Promise<T>, taken: T): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    if (error instanceof StoreError && error.failure === "taken") return taken;
    throw error;
  }
}

/** Reports an event of the database to the operator. */
export type Notify = (level: "info" | "warn" | "error", message: string) => void;

/** Error of a failed write: RESOURCE_EXHAUSTED for a full disk, else UNAVAILABLE. */
export function writeFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const id = error.failure === "unsure" ? "SAVE_UNSURE" : "SAVE_FAILED";
  return new ServiceError(codeOf(error), message(id, { reason: error.message }), { cause: error });
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
function readFailure(error: unknown, what: Kept = "history"): unknown {
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
