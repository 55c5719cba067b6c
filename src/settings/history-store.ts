import { told } from "../database/store-failure.ts";
import type { SettingStore } from "./store.ts";

/** Reads of the history. */
export type HistoryStore = Pick<
  SettingStore,
  "oldestRevision" | "listRevisions" | "commits" | "changesBetween" | "knownKeys" | "firstChanges"
>;

/** Wraps a store's history: failures become service errors. */
export function explained(store: HistoryStore): HistoryStore {
  return {
    oldestRevision: () => told(store.oldestRevision()),
    listRevisions: (filter) => told(store.listRevisions(filter)),
    commits: (...range) => told(store.commits(...range)),
    changesBetween: (...range) => told(store.changesBetween(...range)),
    knownKeys: (keys) => told(store.knownKeys(keys)),
    firstChanges: (...range) => told(store.firstChanges(...range)),
  };
}
