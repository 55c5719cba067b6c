import { createRecordRegistry, type RecordRegistry } from "../../sync/record-registry.ts";
import type { StateRequest } from "../../sync/record-request.ts";
import type { RecordStateStore } from "../../sync/record-state-store.ts";
import type { Listing } from "./last-listing.ts";
import { type MountState, NEW_MOUNT, NEW_SITE_MOUNTS, type SiteMounts } from "./state.ts";

/** States of the mounts of all sites, with the last listings of their providers. */
export type MountRegistry = RecordRegistry<MountState, SiteMounts, Listing>;

/** Change of mount states at a user's request. */
export type MountRequest = StateRequest<MountState, Listing>;

/** @param batch milliseconds for which states are collected. Default: 20. */
export function createMountRegistry(store: RecordStateStore, batch?: number): MountRegistry {
  // Names of mounts have no slash: rows with one are listings, by path.
  const isListing = (name: string): boolean => name.startsWith("/");
  const kind = { newState: NEW_MOUNT, newSite: NEW_SITE_MOUNTS, isListing };
  return createRecordRegistry(store, kind, batch);
}
