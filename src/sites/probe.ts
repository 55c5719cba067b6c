import { hasCome } from "../periodic.ts";
import { createSiteClient } from "../sync/client.ts";
import { isLasting, SiteFailure } from "../sync/failure.ts";
import type { Site, SiteState } from "./site.ts";

/** Time between two probes of one site, in milliseconds. */
const INTERVAL = 2_000;
/** Time limit of a probe, in milliseconds. */
const LIMIT = 2_000;
/** Maximum number of concurrent probes. With more failing sites, each is probed less often. */
const AT_ONCE = 4;

/**
 * Reads a site's public settings, which need no token and are served only when its storages are loaded
 * (`/ping` is served earlier).
 *
 * @param limit time limit in milliseconds.
 * @returns whether an OpenList or AList answered.
 */
export async function answers(site: Site, limit = LIMIT): Promise<boolean> {
  const client = createSiteClient({ ...site, token: "" }, 1, limit);
  try {
    await client.call("GET", "/api/public/settings");
    return true;
  } catch (error) {
    if (error instanceof SiteFailure) return false;
    throw error;
  } finally {
    client.close();
  }
}

export interface ProbeDeps {
  readonly stateOf: (site: Site) => SiteState;
  readonly now: () => number;
  /** Synchronizes a site that answers again. */
  readonly retry: (site: Site) => Promise<void>;
  /** Time between two probes of one site, in milliseconds. Default: 2,000. */
  readonly interval?: number | undefined;
  /** Default: requests the public settings. */
  readonly probe?: (site: Site) => Promise<boolean>;
}

interface Probed {
  readonly at: number;
  readonly isAnswering: boolean;
}

/**
 * Probes sites that wait for their next attempt after a failure. A site that answers its first probe, or
 * a probe after an unanswered one, is tried at once. A site that answers probes and still fails keeps
 * its back-off.
 *
 * @returns a function that runs the due probes.
 */
export function createProbes(deps: ProbeDeps): (sites: readonly Site[]) => Promise<void> {
  const { stateOf, now, retry, interval = INTERVAL, probe = answers } = deps;
  const probed = new Map<string, Probed>();
  const running = new Set<string>();

  const isWaiting = (site: Site): boolean => {
    const { error, nextTry } = stateOf(site);
    return !site.paused && error !== undefined && !isLasting(error) && nextTry > now();
  };
  const lastOf = ({ id }: Site): number => probed.get(id)?.at ?? 0;
  const isDue = (site: Site): boolean =>
    isWaiting(site) &&
    !running.has(site.id) &&
    hasCome(lastOf(site) + interval, { now: now(), longest: interval });
  const run = async (site: Site): Promise<void> => {
    running.add(site.id);
    try {
      const wasAnswering = probed.get(site.id)?.isAnswering ?? false;
      const at = now();
      const isAnswering = await probe(site);
      probed.set(site.id, { at, isAnswering });
      if (isAnswering && !wasAnswering && isWaiting(site)) await retry(site);
    } finally {
      running.delete(site.id);
    }
  };
  return async (sites) => {
    const failing = sites.filter((site) => stateOf(site).error !== undefined);
    const ids = new Set(failing.map(({ id }) => id));
    for (const id of probed.keys()) if (!ids.has(id)) probed.delete(id);
    const due = failing.filter(isDue).sort((a, b) => lastOf(a) - lastOf(b));
    await Promise.all(due.slice(0, Math.max(0, AT_ONCE - running.size)).map(run));
  };
}
