import { type Message, message, type Text } from "../messages/message.ts";
import { MAX_SITES, type Site } from "../sites/site.ts";
import { pausedSite } from "../sites/site-state.ts";
import { isLasting } from "../sync/failure.ts";
import type { Condition, ConditionSubject, Conditions } from "./condition.ts";
import type { IncidentClass } from "./incident.ts";
import type { IncidentStore } from "./store.ts";
import { expiryOf } from "./token-end.ts";

const DAY = 86_400_000;
/** Times before the end of a token at which it is announced, in milliseconds. */
const NOTICES = [14, 3, 1].map((days) => days * DAY);
/** Time without an answer after which a site is down, in milliseconds: at least five attempts. */
const DOWN = 60_000;
/** Time after which an import that has paused a site is taken for interrupted, in milliseconds. */
const RESTORE = 600_000;
/** Maximum number of tokens with an incident. */
const MAX_TOKENS = 200;

/** Token of a principal that has no successor. */
export interface ExpiringToken {
  readonly tokenId: string;
  readonly principal: string;
  /** Milliseconds since 1970 UTC. */
  readonly until: number;
}

export interface WatchConditionDeps {
  readonly store: Pick<IncidentStore, "list">;
  readonly report: Conditions["report"];
  readonly sites: () => readonly Site[];
  /** Why a site can't be read; undefined: it can, or was not read yet. */
  readonly failureOf: (site: Site) => { readonly kind: string; readonly message: Text } | undefined;
  /** Time of the last answer of a site. */
  readonly reachedAt: (site: Site) => number;
  /** Tokens of Mooring that expire soon or have expired, and were not replaced. */
  readonly tokens: () => readonly ExpiringToken[];
  readonly now: () => number;
  /** Called for each site whose state is known. @param condition undefined: it works. */
  readonly onObserved?: (site: Site, condition: Condition | undefined) => void;
  /** Time without an answer after which a site is down, in milliseconds. */
  readonly down?: number | undefined;
}

/** Observer of sites and tokens, in the process with the lease. */
export interface WatchCondition {
  /** Reports changes; called each second. */
  run(): Promise<void>;
  /** Forgets the reports, after another process has made some. */
  reset(): void;
}

/** State of a subject: `unknown` keeps its incident as it is. */
type Observed = Condition | "works" | "unknown";

export function createWatchCondition(deps: WatchConditionDeps): WatchCondition {
  const { now, down = DOWN } = deps;
  /** Time of the first failure in a row, by site. */
  const failing = new Map<string, number>();
  /** Start of the work of this process: earlier answers of a site say nothing of its state now. */
  let began = now();
  /** Last reports by subject; undefined: the open incidents were not read yet. */
  let reported: Map<string, { subject: ConditionSubject; text: string }> | undefined;

  const observeSite = (site: Site): Observed => {
    if (site.restoring > 0 && Math.abs(now() - site.restoring) >= RESTORE)
      return { class: "configuration", message: pausedSite(site).cause };
    const failure = deps.failureOf(site);
    if (site.paused || (failure === undefined && deps.reachedAt(site) >= began)) {
      failing.delete(site.id);
      return "works";
    }
    if (failure === undefined) return "unknown";
    const since = failing.get(site.id) ?? now();
    failing.set(site.id, since);
    const condition = { class: classOf(failure.kind), message: failure.message };
    if (isLasting(failure)) return condition;
    return Math.abs(now() - since) >= down ? condition : "unknown";
  };
  const readOpen = async (): Promise<NonNullable<typeof reported>> => {
    const open = [
      ...(await deps.store.list({ open: true, subject: "site", limit: MAX_SITES })),
      ...(await deps.store.list({ open: true, subject: "token", limit: MAX_SITES + MAX_TOKENS })),
    ];
    return new Map(
      open.map(({ subject, siteId, name, class: kind, message: text }) => {
        const known = (siteId === "" ? { subject, name } : { subject, siteId }) as ConditionSubject;
        return [keyOf(known), { subject: known, text: `${kind} ${String(text)}` }];
      }),
    );
  };
  return {
    run: async () => {
      reported ??= await readOpen();
      const sites = deps.sites();
      const observed: [ConditionSubject, Observed][] = [
        ...sites.map((site): [ConditionSubject, Observed] => {
          const state = observeSite(site);
          if (state !== "unknown") deps.onObserved?.(site, state === "works" ? undefined : state);
          return [{ subject: "site", siteId: site.id }, state];
        }),
        ...sites.map((site): [ConditionSubject, Observed] => [
          { subject: "token", siteId: site.id },
          endOf(expiryOf(site.token), now()),
        ]),
        ...deps
          .tokens()
          .slice(0, MAX_TOKENS)
          .map(({ tokenId, until }): [ConditionSubject, Observed] => [
            { subject: "token", name: tokenId },
            endOf(until, now()),
          ]),
      ];
      const seen = new Set(observed.map(([subject]) => keyOf(subject)));
      for (const [subject, state] of observed) {
        if (state === "unknown") continue;
        const key = keyOf(subject);
        const text = state === "works" ? "" : `${state.class} ${String(state.message)}`;
        if ((reported.get(key)?.text ?? "") === text) continue;
        await deps.report(subject, state === "works" ? undefined : state);
        if (text === "") reported.delete(key);
        else reported.set(key, { subject, text });
      }
      // Deleted sites, and tokens that were deleted, revoked or replaced.
      for (const [key, { subject }] of [...reported]) {
        if (seen.has(key)) continue;
        await deps.report(subject, undefined);
        reported.delete(key);
      }
    },
    reset: () => {
      reported = undefined;
      failing.clear();
      began = now();
    },
  };
}

function keyOf(subject: ConditionSubject): string {
  return JSON.stringify(Object.entries(subject).toSorted());
}

/** Class of the incident of a site, by the kind of its failure (`SiteFailureKind`). */
function classOf(kind: string): IncidentClass {
  if (kind === "unauthorized" || kind === "forbidden") return "credential";
  return ["unreachable", "silent", "loading"].includes(kind) ? "network" : "configuration";
}

/** State of a token that ends at a time: another message at 14, 3 and 1 days before it, and at it. */
function endOf(until: number | undefined, now: number): Observed {
  const next = until === undefined ? undefined : NOTICES.findLast((each) => until - now <= each);
  if (until === undefined || next === undefined) return "works";
  const time = new Date(until).toISOString();
  return { class: "credential", isStep: true, message: endText(until - now, { next, time }) };
}

function endText(
  left: number,
  { next, time }: { readonly next: number; readonly time: string },
): Message {
  if (left <= 0) return message("TOKEN_HAS_ENDED", { time });
  return message("TOKEN_ENDS", { days: next / DAY, time });
}
