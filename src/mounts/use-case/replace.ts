import { denied, failedPrecondition } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { MountChanges } from "../changes.ts";
import type { MountInput } from "../input.ts";
import { SITE_MOUNTS } from "../kind.ts";
import type { Mount } from "../mount.ts";
import type { MountService } from "../mount-service.ts";
import { decideSave } from "../save.ts";

export function replaceCredential(
  changes: MountChanges,
  sites: Pick<SiteRegistry, "names">,
): MountService["replace"] {
  return async (at, value, caller, options = {}) => {
    const { grant } = caller;
    const site = at.site === "" ? "" : (await changes.siteNamed(at.site)).id;
    return changes.commit(caller, options, (draft, mounts) => {
      const mount = changes.require(grant, mounts.get(at.name), at.name);
      // The reply names each mount that has the same secret.
      if (changes.isSecret(mount.driver, at.item) && !grant.has("mounts:reveal"))
        throw denied(message("SCOPE_MISSING", { scope: "mounts:reveal" }));
      const inputs = replaceInputs(
        { mount, site, item: at.item, value },
        [...mounts.values()].filter((each) => SITE_MOUNTS.isAllowed(grant, each)),
        sites.names(),
      );
      // All these mounts already had the same value.
      const rules = { ...changes.rulesOf(caller, options), allowShared: true };
      return decideSave(draft, inputs, mounts, rules);
    });
  };
}

/**
 * Creates inputs that replace a value in all mounts of one driver.
 *
 * @param from location of the old value; `site` is an id, empty: the mount itself.
 * @throws FAILED_PRECONDITION when there is no value.
 */
function replaceInputs(
  from: {
    readonly mount: Mount;
    readonly site: string;
    readonly item: string;
    readonly value: string;
  },
  mounts: readonly Mount[],
  { nameOf }: Pick<SiteNames, "nameOf">,
): MountInput[] {
  const { mount, site, item, value } = from;
  const old = ownValue(site === "" ? mount.items : mount.overrides[site]?.items, item);
  if (old === undefined || old === "")
    throw failedPrecondition(message("NO_CREDENTIAL", { name: mount.name, item }));
  return mounts.flatMap((each): MountInput[] => {
    if (each.driver !== mount.driver) return [];
    const isOwn = ownValue(each.items, item) === old;
    const overrides = Object.entries(each.overrides).filter(
      ([id, { items }]) => ownValue(items, item) === old && nameOf(id) !== "",
    );
    if (!isOwn && overrides.length === 0) return [];
    return [
      {
        name: each.name,
        ...(isOwn && { config: { [item]: value } }),
        overrides: Object.fromEntries(
          overrides.map(([id, { path, items, members }]) => [
            nameOf(id),
            { path, config: { ...items, [item]: value }, members },
          ]),
        ),
      },
    ];
  });
}
