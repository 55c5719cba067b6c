import type { AuditOrigin } from "../../audit/entry.ts";
import { checkManaged } from "../../messages/managed.ts";
import { onSite } from "../on-site.ts";
import type { KindResult } from "../record-effect.ts";
import type { SettingSync } from "../settings/sync.ts";
import type { Site } from "../site.ts";
import type { SiteService } from "../site-service.ts";
import { noted, type SiteChangeDeps, withKind } from "./change.ts";

export interface DeleteDeps extends SiteChangeDeps {
  readonly settings: Pick<SettingSync, "exclusive">;
}

/** Deletes a site, then removes it from the records that name it. */
export function deleteSite(deps: DeleteDeps): SiteService["delete"] {
  const { registry, settings, kinds } = deps;
  const leave = async (site: Site, origin: AuditOrigin, dryRun: boolean): Promise<KindResult[]> => {
    const results: KindResult[] = [];
    for (const each of kinds)
      results.push(...withKind(each, await each.leave(site, origin, { dryRun })));
    return results;
  };
  return async (name, origin, { dryRun = false } = {}) => {
    const site = registry.byName(name);
    checkManaged(name, deps.declaredBy(name));
    const planned = await leave(site, origin, true);
    if (dryRun) return planned;
    const audit = [noted(deps, origin, site, {})];
    await onSite(settings.exclusive(site.id, () => registry.delete(site.id, audit)));
    // Only now: a record that leaves an existing site is removed from its server.
    return leave(site, origin, false);
  };
}
