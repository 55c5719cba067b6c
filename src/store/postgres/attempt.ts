import type { Kysely, Transaction } from "kysely";
import { StoreError } from "../../database/error.ts";
import { isConnectionLost, postgresFailure } from "../../database/postgres/failure.ts";
import type { Database } from "../../database/schema.ts";
import { isOfDatabase } from "./migration.ts";

/** Runs queries of a store, and converts their failures. */
export class Attempts {
  readonly #db: Kysely<Database>;
  readonly #place: string;
  isClosed = false;

  constructor(db: Kysely<Database>, place: string) {
    this.#db = db;
    this.#place = place;
  }

  /** Runs a query once. @throws StoreError. */
  readonly attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw this.#failureOf(error);
    }
  };

  /** Runs a read, again after a broken connection. @throws StoreError. */
  readonly read = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!this.isClosed && isConnectionLost(error)) return this.attempt(work);
      throw this.#failureOf(error);
    }
  };

  /** Reads one state of the database, independent of concurrent commits. */
  readonly readAtOnce = <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> =>
    this.read(() =>
      this.#db
        .transaction()
        .setIsolationLevel("repeatable read")
        .setAccessMode("read only")
        .execute(work),
    );

  /** @throws StoreError when the store is closed. */
  checkOpen(): void {
    if (this.isClosed) throw this.#closed();
  }

  #closed(): StoreError {
    return new StoreError(
      "failed",
      `the database ${this.#place} is closed: this process is stopping`,
    );
  }

  #failureOf(error: unknown): unknown {
    if (error instanceof StoreError) return error;
    if (this.isClosed) return this.#closed();
    return isOfDatabase(error) ? postgresFailure(error, this.#place) : error;
  }
}
