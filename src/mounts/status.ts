import { message, type Text } from "../messages/message.ts";
import type { Site, SiteState } from "../sites/site.ts";
import { pathOn } from "../sites/site-choice.ts";
import { pausedSite } from "../sites/site-state.ts";
import { isLasting } from "../sync/failure.ts";
import type { State, Trouble } from "../sync/state.ts";
import { decideState, isErrorStatus } from "./decide-state.ts";
import { type Mount, missingOn } from "./mount.ts";
import type { MountRegistry } from "./site/registry.ts";

/** Status of a mount on a site. */
export interface Status extends State {
  readonly site: string;
  /** Whether the site has the newest revision of the mount, without differences. */
  readonly agrees: boolean;
  readonly applied: number;
  readonly differs: readonly string[];
  readonly status: string;
  /** Time of the last read of the site's mounts, in milliseconds since 1970 UTC; 0: never. */
  readonly readAt: number;
  /** Time of the last listing of the mount at its provider; 0: never, or not of this row. */
  readonly listedAt: number;
}

/** Sources of the state of mounts besides the process that writes them to sites. */
export interface StatusSources {
  readonly registry: Pick<MountRegistry, "site" | "records" | "listings">;
  /** State of a site's settings. */
  readonly siteState: (siteId: string) => Pick<SiteState, "error">;
  /** The open incident of a mount on a site. */
  readonly incidentAt: (siteId: string, path: string) => Trouble | undefined;
  /** Remedy for an error of a mount's driver. */
  readonly remedyFor: (error: string) => Text;
}

/** The reason for which a site's mounts or settings can't be read; undefined: none. */
export function unreadSite(
  site: Pick<Site, "id" | "name">,
  { registry, siteState }: Pick<StatusSources, "registry" | "siteState">,
): (Trouble & { readonly kind: string }) | undefined {
  const mounts = registry.site(site.id);
  const error = siteState(site.id).error ?? {
    kind: mounts.errorKind,
    message: mounts.error,
    since: mounts.errorSince,
  };
  if (error.message === "") return undefined;
  const { kind, message: cause, since } = error;
  return { cause, remedy: message("DO_CHECK_SITE", { site: site.name }), since, kind };
}

/** Status of a mount on a site, from all that is known about it. */
export function statusOf(mount: Mount, site: Site, sources: StatusSources): Status {
  const { registry, incidentAt, remedyFor } = sources;
  const state = registry.records(site.id).get(mount.name);
  const { applied = 0, differs = [], status = "", statusSince = 0, error = "" } = state ?? {};
  const path = (state?.absent === false && state.path) || pathOn(mount, site.id);
  const agrees =
    state !== undefined &&
    !state.absent &&
    state.phase === "" &&
    applied === mount.revision &&
    differs.length === 0;
  const listing = registry.listings(site.id).get(path);
  const unread = unreadSite(site, sources);
  const decided = decideState({
    name: mount.name,
    site: site.name,
    missing: missingOn(mount, site.id),
    disabled: mount.disabled,
    paused: site.paused ? pausedSite(site) : undefined,
    unread,
    isLasting: unread !== undefined && isLasting(unread),
    isPushing: site.mode === "follow" && !site.paused && registry.site(site.id).contacted,
    error,
    isRetried: (state?.failures ?? 0) > 0,
    agrees,
    absentAt: state?.absent === true ? path : undefined,
    isMounting: state !== undefined && !state.absent && state.since > 0,
    status: state?.absent === true ? "" : status,
    statusSince,
    statusRemedy: isErrorStatus(status) ? remedyFor(status) : "",
    incident: incidentAt(site.id, path),
    listing:
      listing === undefined || listing.error === ""
        ? undefined
        : { cause: listing.error, remedy: remedyFor(listing.error), since: listing.since },
  });
  return {
    ...decided,
    site: site.name,
    agrees,
    applied,
    differs,
    status,
    readAt: registry.site(site.id).readAt,
    listedAt: listing?.at ?? 0,
  };
}
