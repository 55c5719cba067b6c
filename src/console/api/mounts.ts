import { createClient } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import type { Mount } from "../../../gen/mooring/v1/mount_pb.js";
import { MountService } from "../../../gen/mooring/v1/mount_service_pb.js";
import type { StreamOptions } from "../../client/follow.ts";
import { allPages } from "./all-pages.ts";
import { transport } from "./client.ts";
import type { Failure } from "./failure.ts";
import { followCalls } from "./follow.ts";
import { may } from "./rights.ts";
import { session } from "./session.ts";

export const mountService = createClient(MountService, transport);

/** Mounts by name, as last received; undefined: not received yet. */
export const mounts = signal<ReadonlyMap<string, Mount> | undefined>(undefined);
export const mountsFailure = signal<Failure | undefined>(undefined);

session.subscribe((now) => {
  if (now === undefined) mounts.value = undefined;
});

/** Reads all mounts, or those of a site, once. */
export function allMounts(
  filter: { readonly site?: string },
  signal: AbortSignal,
): Promise<Mount[]> {
  return allPages(async (pageToken) => {
    const page = await mountService.listMounts({ ...filter, pageToken }, { signal });
    return [page.mounts, page.nextPageToken];
  });
}

/** Follows mounts until the signal is aborted, while a page shows them. */
export async function followMounts(signal: AbortSignal): Promise<void> {
  if (!may("mounts:read")) {
    mounts.value = new Map();
    return;
  }
  const maps = followCalls({ open: readMounts, failure: mountsFailure, signal });
  for await (const known of maps)
    mounts.value = new Map([...known].sort(([one], [other]) => one.localeCompare(other)));
}

/** All mounts by name after each event; a stream begins with all of them. */
async function* readMounts(_: undefined, options: StreamOptions) {
  const known = new Map<string, Mount>();
  for await (const { mounts: changed, removed } of mountService.watchMounts({}, options)) {
    for (const mount of changed) known.set(mount.name, mount);
    for (const name of removed) known.delete(name);
    yield known;
  }
}
