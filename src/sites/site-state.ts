import { type Message, message } from "../messages/message.ts";
import type { MessageId } from "../messages/table.ts";
import { isLasting } from "../sync/failure.ts";
import { OK, STATES, type State, type Trouble, worstOf } from "../sync/state.ts";
import { errorOf, type RecordsOfSite, type Site, type SiteView } from "./site.ts";

/** Maximum number of keys in a cause. */
const MAX_NAMED = 5;

/**
 * State of a site, from all that is known about it: whether it can be read, its settings and its
 * other records. This is the only place that decides it.
 *
 * @param revision the newest of the settings.
 */
export function stateOfSite(view: SiteView, revision: number): State {
  return (
    contactState(view) ??
    worstOf([
      stateOfSettings(view, revision),
      ...view.records.map((records) => stateOfRecords(view.site, records)),
    ])
  );
}

/** State of a site that is not read; undefined: it is. */
function contactState(view: SiteView): State | undefined {
  const { site, state } = view;
  if (site.paused) return { state: site.restoring > 0 ? "stuck" : "waiting", ...pausedSite(site) };
  const error = errorOf(view);
  if (error !== undefined)
    return {
      state: isLasting(error) ? "stuck" : "failing",
      cause: error.message,
      remedy: message("DO_CHECK_SITE", { site: site.name }),
      since: error.since,
    };
  if (state.reachedAt > 0) return undefined;
  return { state: "waiting", cause: message("SITE_NOT_YET_READ"), remedy: "", since: 0 };
}

/** Why the records of a paused site are neither read nor written. */
export function pausedSite({ name, restoring }: Pick<Site, "name" | "restoring">): Trouble {
  if (restoring > 0)
    return {
      cause: message("SITE_IS_RESTORED"),
      remedy: message("DO_COMPLETE_RESTORE", { site: name }),
      since: restoring,
    };
  return {
    cause: message("SITE_IS_PAUSED"),
    remedy: message("DO_RESUME_SITE", { site: name }),
    since: 0,
  };
}

/** State of the settings on a site that can be read. */
function stateOfSettings({ site, state }: SiteView, revision: number): State {
  const sync = message("DO_SYNC_OR_ADOPT_SITE", { site: site.name });
  const flapping = state.drift.filter((key) => state.corrections[key]?.isFlapping === true);
  const [refused, ...others] = Object.entries(state.refused);
  if (refused !== undefined)
    return {
      state: "stuck",
      cause: message("SITE_REFUSES_SETTINGS", {
        keys: namesOf([refused[0], ...others.map(([key]) => key)]),
        reason: refused[1].reason,
      }),
      remedy: message("DO_CHANGE_OR_ADOPT_SITE", { site: site.name }),
      since: 0,
    };
  if (flapping.length > 0)
    return {
      state: "stuck",
      cause: message("SITE_SETTINGS_FLAP", { keys: namesOf(flapping) }),
      remedy: sync,
      since: 0,
    };
  if (state.drift.length > 0) {
    const cause = message("SITE_SETTINGS_DIFFER", { keys: namesOf(state.drift) });
    return site.mode === "follow"
      ? { state: "waiting", cause, remedy: "", since: 0 }
      : { state: "differs", cause, remedy: sync, since: 0 };
  }
  const lag = site.mode === "follow" ? revision - state.appliedRevision : 0;
  if (lag > 0)
    return {
      state: "waiting",
      cause: message("SITE_BEHIND", { count: lag }),
      remedy: "",
      since: 0,
    };
  return OK;
}

/** State of the records of a kind, without their names: callers may not be allowed to read them. */
function stateOfRecords(site: Site, records: RecordsOfSite): State {
  const worst = STATES.findLast((state) => (records.counts[state] ?? 0) > 0) ?? "ok";
  if (worst === "ok") return OK;
  const { cause, remedy } = TEXTS[records.kind];
  return {
    state: worst,
    cause: message(cause, { states: countsInWords(records) }),
    remedy: worst === "waiting" ? "" : message(remedy, { site: site.name }),
    since: 0,
  };
}

const TEXTS = {
  mount: { cause: "SITE_MOUNTS", remedy: "DO_LIST_MOUNTS" },
  rule: { cause: "SITE_RULES", remedy: "DO_LIST_RULES" },
} as const;

/** Numbers of records by state in English, such as `5 ok, 1 failing`. */
export function countsText(records: Pick<RecordsOfSite, "counts">): string {
  return String(countsInWords(records));
}

function countsInWords({ counts }: Pick<RecordsOfSite, "counts">): Message | "" {
  const [first, ...rest] = STATES.flatMap((state) => {
    const count = counts[state] ?? 0;
    const word = state === "differs" && count > 1 ? "STATE_DIFFER" : WORDS[state];
    return count > 0 ? [message("COUNT_IN_STATE", { count, state: message(word) })] : [];
  });
  if (first === undefined) return "";
  return rest.reduce((all, next) => message("LISTED", { first: all, next }), first);
}

const WORDS = {
  ok: "STATE_OK",
  waiting: "STATE_WAITING",
  differs: "STATE_DIFFERS",
  failing: "STATE_FAILING",
  stuck: "STATE_STUCK",
} as const satisfies Record<(typeof STATES)[number], MessageId>;

function namesOf(keys: readonly string[]): string {
  const more = keys.length - MAX_NAMED;
  return [...keys.slice(0, MAX_NAMED), ...(more > 0 ? [`… (+${more})`] : [])].join(", ");
}
