import { Code } from "@connectrpc/connect";
import { StoreError } from "../store/error.ts";
import type { SettingStore } from "../store/setting-store.ts";
import { ServiceError, unavailable } from "./error.ts";

/** A failed write, as a client may learn of it: RESOURCE_EXHAUSTED for a full disk, or UNAVAILABLE. */
export function writeFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const code = error.failure === "full" ? Code.ResourceExhausted : Code.Unavailable;
  return new ServiceError(code, `nothing was saved: ${error.message}`, { cause: error });
}

/** A failed read of what is not in memory, likewise: UNAVAILABLE. */
export function readFailure(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  return unavailable(`the history cannot be read: ${error.message}`, error);
}

/** What the history is read by. */
export type HistoryStore = Pick<
  SettingStore,
  "oldestRevision" | "listRevisions" | "commits" | "changesBetween"
>;

/** A store's history whose failures are told as {@link readFailure} tells them. */
export function explained(store: HistoryStore): HistoryStore {
  const told = async <T>(reading: Promise<T>): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      throw readFailure(error);
    }
  };
  return {
    oldestRevision: () => told(store.oldestRevision()),
    listRevisions: (filter) => told(store.listRevisions(filter)),
    commits: (...range) => told(store.commits(...range)),
    changesBetween: (...range) => told(store.changesBetween(...range)),
  };
}
