import type { Ledger } from "../ledger/ledger.ts";
import { memoize } from "../memoize.ts";
import { MAX_SITES } from "../sites/site.ts";
import { MOUNTS, mountsByName } from "./kind.ts";
import { type Mount, wantedMounts } from "./mount.ts";
import type { WantedMount } from "./site/row.ts";

/** Mounts at the newest revision. The same objects until a mount changes. */
export interface MountView {
  /** All mounts, by name. */
  all(): ReadonlyMap<string, Mount>;
  /** Desired mounts of a site, with its overrides applied. */
  wantedOf(site: { readonly id: string }): readonly WantedMount[];
  /** Name of the mount that a site is to have at a path; undefined: none. */
  nameAt(siteId: string, path: string): string | undefined;
}

export function createMountView(ledger: Pick<Ledger, "snapshot">): MountView {
  const all = (): ReadonlyMap<string, Mount> => mountsByName(ledger.snapshot().of(MOUNTS));
  const wanted = memoize((mounts: ReadonlyMap<string, Mount>) =>
    memoize((id: string) => wantedMounts(mounts, { id }), { limit: MAX_SITES }),
  );
  const wantedOf: MountView["wantedOf"] = ({ id }) => wanted(all())(id);
  return {
    all,
    wantedOf,
    nameAt: (siteId, path) => wantedOf({ id: siteId }).find((each) => each.path === path)?.name,
  };
}
