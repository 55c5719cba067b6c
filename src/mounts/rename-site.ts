import type { Draft } from "../settings/draft.ts";
import type { IsSecret } from "./adopt.ts";
import { draftMounts, writeMount } from "./mount.ts";

/**
 * Adds the new name of a site to the mounts that name the site, with the site's overrides. Both
 * names stay, because another process may have read only one of the two changes. A mount that is no
 * longer assigned to its site would be deleted there.
 *
 * @param options.guard throws FAILED_PRECONDITION for a mount that clients can't change.
 */
export function nameSite(
  draft: Draft,
  {
    from,
    to,
    guard,
    isSecret,
  }: {
    readonly from: string;
    readonly to: string;
    readonly guard: (name: string) => void;
    readonly isSecret: IsSecret;
  },
): void {
  for (const mount of draftMounts(draft).values()) {
    const own = mount.overrides[from];
    const lacksName = mount.sites.includes(from) && !mount.sites.includes(to);
    const lacksOwn = own !== undefined && mount.overrides[to] === undefined;
    if (!lacksName && !lacksOwn) continue;
    guard(mount.name);
    writeMount(
      draft,
      {
        ...mount,
        sites: lacksName ? [...mount.sites, to] : mount.sites,
        overrides: lacksOwn ? { ...mount.overrides, [to]: own } : mount.overrides,
      },
      (item) => isSecret(mount.driver, item),
    );
  }
}
