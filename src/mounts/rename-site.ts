import type { Draft } from "../settings/draft.ts";
import type { IsSecret } from "./adopt.ts";
import { draftMounts, writeMount } from "./mount.ts";

/**
 * Gives mounts that name a site its next name as well, with the values that they have for it. Both names
 * stay: between this change and that of the site, and in a process that has read only one of them, the
 * site has its mounts by either. A mount that lost its site would be deleted there.
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
