import { Code } from "@connectrpc/connect";
import { ServiceError } from "../../messages/error.ts";
import { checkManaged } from "../../messages/managed.ts";
import { message } from "../../messages/message.ts";
import { sentSecrets, withInput } from "../input.ts";
import { changedMembers } from "../registry.ts";
import { changesAccess, followsTooEarly } from "../site.ts";
import { siteEtag } from "../site-etag.ts";
import type { SiteService } from "../site-service.ts";
import { noted, type SiteChangeDeps, taken, tooEarly, withKind } from "./change.ts";

/** Changes the members of a site. Repeats when another call has changed it meanwhile. */
export function updateSite(deps: SiteChangeDeps): SiteService["update"] {
  const { registry, keys, kinds, viewOf } = deps;
  const update: SiteService["update"] = async (name, input, origin, options = {}) => {
    const { dryRun = false, reveals, expectedEtag } = options;
    const before = registry.byName(name);
    checkManaged(name, deps.declaredBy(name));
    if (expectedEtag !== undefined && expectedEtag !== siteEtag(before, keys.isSecret))
      throw new ServiceError(
        Code.Aborted,
        message("SITE_CHANGED", { name, expected: expectedEtag.slice(0, 60) }),
      );
    const state = registry.state(before.id);
    const site = withInput(before, input, keys.known(state, { reveals }));
    if (followsTooEarly(before, site, state)) throw tooEarly(site);
    const sent = reveals === false ? sentSecrets(before, input, keys.isSecret) : [];
    const changed = changedMembers(before, site, sent);
    const records = kinds.flatMap((each) => withKind(each, each.affected(before, site)));
    if (dryRun) return { view: { ...viewOf(before), site }, records };
    const isDone = await registry.update(site, [noted(deps, origin, site, { changed })], before);
    if (isDone === undefined) {
      await registry.load();
      return update(name, input, origin, options);
    }
    if (!isDone) throw taken(deps, site);
    if (changesAccess(changed)) await registry.clearError(site.id);
    return { view: viewOf(site), records };
  };
  return update;
}
