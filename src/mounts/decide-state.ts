import { Message, message, type Text } from "../messages/message.ts";
import type { State, Trouble } from "../sync/state.ts";

/** Facts from which the state of a mount on a site is decided. */
export interface StateFacts {
  /** Names, for remedies. */
  readonly name: string;
  readonly site: string;
  /** Secret items of the mount whose values are lost. */
  readonly missing: readonly string[];
  /** Whether the mount is disabled in Mooring. */
  readonly disabled: boolean;
  /** The site is neither read nor written, because it is paused. */
  readonly paused: Trouble | undefined;
  /** The site can't be read: its mounts or its settings. */
  readonly unread: Trouble | undefined;
  /** Whether a user has to act before the site can be read. */
  readonly isLasting: boolean;
  /** Whether differences are written to the site without a request. */
  readonly isPushing: boolean;
  /** Error of the last attempt to write the mount; empty: none. */
  readonly error: Text;
  /** Whether that attempt is repeated without a request. */
  readonly isRetried: boolean;
  /** Whether the site has the newest revision of the mount, without differences. */
  readonly agrees: boolean;
  /** Path at which the site has no mount; undefined: the site has it, or was not read. */
  readonly absentAt: string | undefined;
  /** Whether the server has not ended mounting it. */
  readonly isMounting: boolean;
  /** Status of the row on the site; empty: none. */
  readonly status: string;
  /** Time at which the status was first seen; 0: unknown. */
  readonly statusSince: number;
  /** Remedy for an error of the row's status. */
  readonly statusRemedy: Text;
  /** The open incident of the mount. */
  readonly incident: Trouble | undefined;
  /** The last listing of the mount, if it failed. */
  readonly listing: Trouble | undefined;
}

/**
 * Decides the state of a mount on a site. It is `ok` only if the site has the newest revision, the
 * server reports that the mount works, no incident is open and the last listing did not fail.
 */
export function decideState(facts: StateFacts): State {
  const { name, site, missing, status, statusSince, error } = facts;
  const sync = () => message("DO_SYNC_MOUNT", { site, name });
  if (missing.length > 0)
    return {
      state: "stuck",
      cause: message("MOUNT_INCOMPLETE", { items: missing.join(", ") }),
      remedy: message("DO_GIVE_ITEMS"),
      since: 0,
    };
  if (facts.paused !== undefined) return { state: "waiting", ...facts.paused };
  if (error !== "") {
    // A mount that waits for its folder rule is written when the site has the rule.
    const waitsForRule = error instanceof Message && error.id === "MOUNT_WAITS_FOR_RULE";
    const remedy = waitsForRule ? message("DO_BRING_RULES", { site }) : sync();
    return { state: facts.isRetried ? "failing" : "stuck", cause: error, remedy, since: 0 };
  }
  if (facts.unread !== undefined)
    return { state: facts.isLasting ? "stuck" : "failing", ...facts.unread };
  if (!facts.disabled) {
    const found = facts.incident ?? facts.listing;
    if (found !== undefined || isErrorStatus(status)) {
      const { cause, remedy } = found ?? { cause: status, remedy: facts.statusRemedy };
      const times = [
        facts.incident?.since ?? 0,
        facts.listing?.since ?? 0,
        isErrorStatus(status) ? statusSince : 0,
      ].filter((time) => time > 0);
      return {
        state: "failing",
        cause,
        remedy: message("DO_THEN", { remedy, next: sync() }),
        since: times.length === 0 ? 0 : Math.min(...times),
      };
    }
  }
  if (facts.isMounting)
    return {
      state: "waiting",
      cause: message("MOUNT_STARTING"),
      remedy: "",
      since: statusSince,
    };
  if (facts.agrees) return { state: "ok", cause: "", remedy: "", since: statusSince };
  const cause =
    facts.absentAt === undefined ? "" : message("MOUNT_NOT_THERE", { path: facts.absentAt });
  if (facts.isPushing) return { state: "waiting", cause, remedy: "", since: 0 };
  return {
    state: "differs",
    cause,
    remedy: message("DO_SYNC_OR_ADOPT", { site, name }),
    since: 0,
  };
}

/** Reports whether the status of a row is the error of its last mount. */
export function isErrorStatus(status: string): boolean {
  return !["", "work", "disabled"].includes(status);
}
