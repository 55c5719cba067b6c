import { hasCome } from "../periodic.ts";
import type { Failure, Target } from "./adapter.ts";
import { isLasting } from "./failure.ts";

/** Time between two probes of one site, in milliseconds. */
const INTERVAL = 2_000;
/** Maximum number of concurrent probes. With more failing sites, each is probed less often. */
const AT_ONCE = 4;

export interface ProbeDeps<T extends Target> {
  /** The failure of a site; undefined: it could be reached. */
  readonly failureOf: (site: T) => Pick<Failure, "kind" | "nextTry"> | undefined;
  /** Reports whether the site answers. */
  readonly probe: (site: T) => Promise<boolean>;
  /** Tries a site that answers again. */
  readonly retry: (site: T) => Promise<void>;
  readonly now: () => number;
  /** Time between two probes of one site, in milliseconds. Default: 2,000. */
  readonly interval?: number | undefined;
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
export function createProbes<T extends Target>(
  deps: ProbeDeps<T>,
): (sites: readonly T[]) => Promise<void> {
  const { failureOf, now, retry, interval = INTERVAL, probe } = deps;
  const probed = new Map<string, Probed>();
  const running = new Set<string>();

  const isWaiting = (site: T): boolean => {
    const failure = failureOf(site);
    if (site.paused || failure === undefined) return false;
    return !isLasting(failure) && failure.nextTry > now();
  };
  const lastOf = ({ id }: T): number => probed.get(id)?.at ?? 0;
  const isDue = (site: T): boolean =>
    isWaiting(site) &&
    !running.has(site.id) &&
    hasCome(lastOf(site) + interval, { now: now(), longest: interval });
  const run = async (site: T): Promise<void> => {
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
    const failing = sites.filter((site) => failureOf(site) !== undefined);
    const ids = new Set(failing.map(({ id }) => id));
    for (const id of probed.keys()) if (!ids.has(id)) probed.delete(id);
    const due = failing.filter(isDue).sort((a, b) => lastOf(a) - lastOf(b));
    await Promise.all(due.slice(0, Math.max(0, AT_ONCE - running.size)).map(run));
  };
}
