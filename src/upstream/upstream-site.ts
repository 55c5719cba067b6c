import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { message } from "../messages/message.ts";
import { changedMembers, type SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";

/** Origin of values that Mooring adopts from the upstream by itself. */
export const ADOPTION: RevisionOrigin = {
  actor: "sites",
  transport: "upstream",
  method: "AdoptSite",
  requestId: "",
  peer: "",
  reason: String(message("REASON_UPSTREAM_VALUES")),
};

/** Origin of changes of the site that Mooring makes by itself. */
const UPDATE: AuditOrigin = { ...ADOPTION, method: "UpdateSite" };

/** The upstream's entry in the registry of sites. */
export interface UpstreamSite {
  /** The site of the upstream; undefined before first contact. */
  find(): Site | undefined;
  /** Changes members of a site and audits those that differ. @param origin default: Mooring itself. */
  change(id: string, members: Partial<Site>, origin?: AuditOrigin): Promise<void>;
  /** Stores a new permanent token of the upstream. @param by who has reset it; undefined: unknown. */
  setToken(token: string, by: AuditOrigin | undefined): Promise<void>;
}

export function createUpstreamSite(registry: SiteRegistry, now: () => number): UpstreamSite {
  const find = (): Site | undefined => registry.sites().find((site) => site.upstream);
  const change: UpstreamSite["change"] = async (id, members, origin = UPDATE) => {
    await registry.change(
      id,
      (site) => ({ ...site, ...members }),
      (before, after) => [
        doneEntry(origin, now(), [before.name], { changed: changedMembers(before, after) }),
      ],
    );
  };
  return {
    find,
    change,
    setToken: async (token, by) => {
      const site = find();
      if (site === undefined) return;
      await change(site.id, { token }, by && { ...by, method: UPDATE.method });
      await registry.clearError(site.id);
    },
  };
}
