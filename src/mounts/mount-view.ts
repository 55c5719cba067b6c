import type { Ledger } from "../ledger/ledger.ts";
import { createRecordView, type RecordView } from "../records/view.ts";
import { SITE_MOUNTS } from "./kind.ts";
import { type Mount, wantedOn } from "./mount.ts";
import type { WantedMount } from "./site/row.ts";

/** Mounts at the newest revision. The same objects until a mount changes. */
export interface MountView extends RecordView<Mount, WantedMount> {
  /** Name of the mount that a site is to have at a path; undefined: none. */
  nameAt(siteId: string, path: string): string | undefined;
}

export function createMountView(ledger: Pick<Ledger, "snapshot">): MountView {
  const view = createRecordView(ledger, SITE_MOUNTS, wantedOn);
  return {
    ...view,
    nameAt: (siteId, path) =>
      view.wantedOf({ id: siteId }).find((each) => each.path === path)?.name,
  };
}
