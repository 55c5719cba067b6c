/**
 * What went wrong with the database, as far as a caller can act on it.
 * - `unusable`: no database of ours can be had at this place, or none that this user may write.
 * - `busy`: another program holds the lock longer than we wait.
 * - `full`: the disk is full.
 * - `away`: there is no server at the moment, and it says so: nobody else has one either.
 * - `unsure`: the server did not answer, or the connection to it was lost. Others may reach it, and
 *   what was asked of it may have been done.
 * - `failed`: reading or writing failed; the file, the disk or the server needs a look.
 */
export type StoreFailure = "unusable" | "busy" | "full" | "away" | "unsure" | "failed";

/** A failure of the store, with one sentence that says what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.failure = failure;
  }
}

/** Reports an event of the database to the operator. */
export type Notify = (level: "info" | "warn" | "error", message: string) => void;
