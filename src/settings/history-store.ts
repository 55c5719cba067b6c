import { mapReadError } from "../database/store-failure.ts";
import type { SettingStore } from "./store.ts";

/** Reads of the history. */
export type HistoryStore = Pick<
  SettingStore,
  "oldestRevision" | "listRevisions" | "commits" | "changesBetween" | "knownKeys" | "firstChanges"
>;

/** Wraps a store's history: failures become service errors. */
export function explained(store: HistoryStore): HistoryStore {
  return {
    oldestRevision: () => mapReadError(store.oldestRevision()),
    listRevisions: (filter) => mapReadError(store.listRevisions(filter)),
    commits: (...range) => mapReadError(store.commits(...range)),
    changesBetween: (...range) => mapReadError(store.changesBetween(...range)),
    knownKeys: (keys) => mapReadError(store.knownKeys(keys)),
    firstChanges: (...range) => mapReadError(store.firstChanges(...range)),
  };
}
