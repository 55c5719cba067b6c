import { denied } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import type { MountChanges } from "../changes.ts";
import { replaceInputs } from "../input.ts";
import { SITE_MOUNTS } from "../kind.ts";
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
