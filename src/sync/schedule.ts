import { hasCome } from "../periodic.ts";
import type { Failure, Outcome, Target } from "./adapter.ts";
import { isLasting } from "./failure.ts";

export interface ScheduleDeps {
  readonly now: () => number;
  /** Time at which work of any kind has last reached a site; 0: not yet. */
  readonly reachedAt: (siteId: string) => number;
  /** Longest pause after a failure, in milliseconds. */
  readonly longestPause: number;
}

/** Last and next attempts to reach sites. */
export class Schedule<T extends Target> {
  readonly #deps: ScheduleDeps;
  /** Each site as of its last attempt. */
  readonly #attempted = new Map<string, { readonly site: T; readonly at: number }>();
  /** Next attempts: their times, and when they were planned. */
  readonly #planned = new Map<string, { readonly at: number; readonly from: number }>();

  constructor(deps: ScheduleDeps) {
    this.#deps = deps;
  }

  /** Records an attempt, when it begins and when it fails. */
  attempted(site: T): void {
    this.#attempted.set(site.id, { site, at: this.#deps.now() });
  }

  /** Plans the next attempt after one that has reached the site. */
  plan(siteId: string, { requeueAfter, replans }: Outcome): void {
    const now = this.#deps.now();
    const next = { at: now + requeueAfter, from: now };
    const earlier = this.#planned.get(siteId);
    const keeps = !replans && earlier !== undefined && !this.#hasCome(siteId);
    this.#planned.set(siteId, keeps && earlier.at < next.at ? earlier : next);
  }

  /** Reports whether the time of the next attempt has come, or the site was changed since the last one. */
  isDue(site: T): boolean {
    return this.#attempted.get(site.id)?.site !== site || this.#hasCome(site.id);
  }

  /** Reports whether a site with a failure may be tried again. */
  mayRetry(site: T, failure: Failure): boolean {
    const { now, reachedAt, longestPause: longest } = this.#deps;
    const last = this.#attempted.get(site.id);
    // It has another address or token, or other work could reach it in the meantime.
    if (last !== undefined && (last.site !== site || reachedAt(site.id) > last.at)) return true;
    return !isLasting(failure) && hasCome(failure.nextTry, { now: now(), longest });
  }

  /** Makes all sites due. */
  restart(): void {
    this.#planned.clear();
  }

  #hasCome(siteId: string): boolean {
    const { at, from } = this.#planned.get(siteId) ?? { at: 0, from: 0 };
    return hasCome(at, { now: this.#deps.now(), longest: at - from });
  }
}
