import type { Text } from "../../messages/message.ts";
import { hasCome } from "../../periodic.ts";
import { pauseAfter } from "../../sync/back-off.ts";
import { NEW_SITE_RECORDS, type SiteRecords } from "../../sync/site-records.ts";
import { MOUNT_LIMIT } from "./client.ts";

/**
 * Work in progress on a mount of a site, stored before its first call.
 * - empty: none.
 * - `create`, `change`, `delete`: these calls may have been made.
 * - `mount`: the site has the whole row, and its driver may still be starting.
 * - `gone`: the row was deleted; that of a hanging mount may come back.
 */
type Phase = "" | "create" | "change" | "mount" | "delete" | "gone";

/** Value that the site stored in place of the one that was sent. Both are keyed hashes. */
export interface Rewritten {
  readonly sent: string;
  readonly got: string;
}

/** State of one mount on one site. Values are kept as keyed hashes only. */
export interface MountState {
  /** Id, path and driver of the last known row on the site; id 0: none yet. */
  readonly id: number;
  readonly path: string;
  readonly driver: string;
  readonly phase: Phase;
  /**
   * Time at which the phase, or an unfinished mount, was first observed, in milliseconds since 1970
   * UTC.
   */
  readonly since: number;
  /** Whether the site has refused to disable the mount, because it is not in the site's memory. */
  readonly unmounted: boolean;
  /** Revision of the mount on the site; 0: none. */
  readonly applied: number;
  /** Revision of the last attempt, with or without success. */
  readonly tried: number;
  /** Revision of the learned items (values that servers refresh, such as tokens) that were sent, or that the site had at first contact. */
  readonly credential: number;
  /** Revision of the secrets that were last sent. */
  readonly sent: number;
  /** Hash of the site's learned items before an unconfirmed push of new ones; empty: none. */
  readonly before: string;
  /** Values by item or member that the site stores in another form. */
  readonly rewritten: Readonly<Record<string, Rewritten>>;
  /** Values by item or member that the last push has not explained (`originOf` in `own-form.ts`). */
  readonly unexplained: Readonly<Record<string, Rewritten>>;
  /** Content by item, when both sides were last equal: `sent` is Mooring's, `got` the site's. */
  readonly content: Readonly<Record<string, Rewritten>>;
  /** Whether the last push was not compared with the row since the driver has normalised it. */
  readonly unconfirmed: boolean;
  /** Names of items and members that differ. */
  readonly differs: readonly string[];
  /** The row's status without secrets, first line. */
  readonly status: string;
  /** Time at which the row was first seen with this status; 0: unknown. */
  readonly statusSince: number;
  /** Whether the site's last list has no row of it. */
  readonly absent: boolean;
  /** Error, or a stuck state with its remedy; empty: none. */
  readonly error: Text;
  /** Number of consecutive failures. */
  readonly failures: number;
  /** Time of the next attempt after a failure, in milliseconds since 1970 UTC; 0: none. */
  readonly nextTry: number;
  /** Times of recent corrections of changes by other clients, in milliseconds since 1970 UTC. */
  readonly corrections: readonly number[];
}

export const NEW_MOUNT: MountState = Object.freeze({
  id: 0,
  path: "",
  driver: "",
  phase: "",
  since: 0,
  unmounted: false,
  applied: 0,
  tried: 0,
  credential: 0,
  sent: 0,
  before: "",
  rewritten: {},
  unexplained: {},
  content: {},
  unconfirmed: false,
  differs: [],
  status: "",
  statusSince: 0,
  absent: false,
  error: "",
  failures: 0,
  nextTry: 0,
  corrections: [],
});

/**
 * Pauses after a failure with one mount, in milliseconds. Each attempt may be a login at the
 * provider.
 */
const PAUSES = { first: 10_000, longest: 3_600_000 };

/** Number of failures, with the time of the next attempt. */
export function withFailures(
  failures: number,
  time: number,
): Pick<MountState, "failures" | "nextTry"> {
  return { failures, nextTry: failures === 0 ? 0 : time + pauseAfter(failures, PAUSES) };
}

/**
 * Reports whether a revision of a mount is still to be brought to a site that follows: no attempt has
 * ended yet, with or without success.
 *
 * @param state undefined: no attempt has begun.
 */
export function isPending(revision: number, state: MountState | undefined): boolean {
  if (state === undefined) return true;
  if (state.applied === revision && !state.absent) return false;
  return state.tried !== revision || (state.phase !== "" && state.error === "");
}

/** Reports whether the next attempt after failures is still to come. */
export function isWaiting(
  { failures, nextTry }: Pick<MountState, "failures" | "nextTry">,
  time: number,
): boolean {
  return !hasCome(nextTry, { now: time, longest: pauseAfter(failures, PAUSES) });
}

/** Reports whether an unfinished mount may still complete: a hanging provider takes two minutes. */
export function isMounting({ since }: Pick<MountState, "since">, time: number): boolean {
  return since === 0 || Math.abs(time - since) < MOUNT_LIMIT;
}

/** A status of a row, with the time at which it was first seen. */
export function statusSeen(
  before: Pick<MountState, "status" | "statusSince">,
  status: string,
  time: number,
): Pick<MountState, "status" | "statusSince"> {
  const isSame = before.status === status && before.statusSince > 0;
  return { status, statusSince: isSame ? before.statusSince : time };
}

/** A mount of a site that Mooring does not have. */
export interface ExtraMount {
  readonly id: number;
  readonly path: string;
  readonly driver: string;
  readonly disabled?: boolean;
}

/** State of the mounts of one site as a whole. */
export interface SiteMounts extends SiteRecords {
  /** Time of the last read of the list, in milliseconds since 1970 UTC; 0: never. */
  readonly readAt: number;
  readonly extra: readonly ExtraMount[];
}

export const NEW_SITE_MOUNTS: SiteMounts = Object.freeze({
  ...NEW_SITE_RECORDS,
  readAt: 0,
  extra: [],
});
