import { message, type Text } from "../messages/message.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Incident, IncidentPlace } from "./incident.ts";
import type { ExpiringToken } from "./watch-condition.ts";

/** Name of a site that was removed, in incidents of its time. */
const REMOVED_SITE = message("REMOVED_SITE");

export interface IncidentNamesDeps {
  readonly sites: Pick<SiteRegistry, "byId">;
  /** Name of Mooring's mount at a path of a site. */
  readonly mountAt: (siteId: string, path: string) => string | undefined;
  readonly tokens: () => readonly ExpiringToken[];
}

/** Names of what incidents are about, for people. */
export interface IncidentNames {
  /** Empty for an incident without a site. */
  siteName(siteId: string): Text;
  placeOf(incident: Incident): IncidentPlace;
}

export function createIncidentNames({ sites, mountAt, tokens }: IncidentNamesDeps): IncidentNames {
  const siteName = (siteId: string): Text =>
    siteId === "" ? "" : (sites.byId(siteId)?.name ?? REMOVED_SITE);
  const tokenName = (id: string): string => {
    const principal = tokens().find(({ tokenId }) => tokenId === id)?.principal;
    return principal === undefined ? id : `${principal} (${id})`;
  };
  return {
    siteName,
    placeOf: ({ siteId, mountPath, subject, name }) => ({
      site: siteName(siteId),
      mount: mountPath === "" ? undefined : mountAt(siteId, mountPath),
      name: subject === "token" ? tokenName(name) : name,
    }),
  };
}
