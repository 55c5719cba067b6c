import type { AuditOrigin } from "../audit/entry.ts";
import { seenFailure, writeFailure } from "../database/error.ts";
import type { Grant } from "./grant.ts";
import type { AccessRegistry } from "./registry.ts";
import type { AccessStore, AccessTransaction } from "./store.ts";

/** Actor of a change of access. */
export interface AccessCaller extends AuditOrigin {
  readonly grant: Grant;
}

/**
 * Runs a change in a transaction of its own. Resolves when every process applies it: rights that it
 * ends are no longer accepted anywhere.
 */
export type Change = <T>(work: (transaction: AccessTransaction) => Promise<T>) => Promise<T>;

export interface ChangeDeps {
  readonly store: Pick<AccessStore, "transact" | "seenEverywhere">;
  readonly registry: Pick<AccessRegistry, "reread" | "version">;
  /** Ends the streams of tokens that are no longer valid. */
  readonly changed: () => Promise<void>;
}

export function createChange({ store, registry, changed }: ChangeDeps): Change {
  return async (work) => {
    let version = 0;
    const noting = (transaction: AccessTransaction): AccessTransaction => ({
      ...transaction,
      write: async (rows) => {
        version = await transaction.write(rows);
        return version;
      },
    });
    const result = await store
      .transact((transaction) => work(noting(transaction)))
      .catch((error: unknown) => {
        throw writeFailure(error);
      });
    // A local write is read back like one of another process.
    await registry.reread();
    await changed();
    await store.seenEverywhere(Math.max(version, registry.version())).catch((error: unknown) => {
      throw seenFailure(error);
    });
    return result;
  };
}
