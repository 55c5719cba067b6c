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
