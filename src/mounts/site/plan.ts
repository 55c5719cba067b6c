import type { DriverInfo } from "../../drivers/driver-info.ts";
import { message, type Text } from "../../messages/message.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { correctionsAfter } from "../../sync/flapping.ts";
import { MOUNT_LIMIT } from "./client.ts";
import { compareMount } from "./compare.ts";
import type { Listing } from "./last-listing.ts";
import { plainStatus } from "./plain.ts";
import { readAddition, type StorageRow, type WantedMount } from "./row.ts";
import {
  type ExtraMount,
  isMounting,
  isWaiting,
  type MountState,
  NEW_MOUNT,
  statusSeen,
} from "./state.ts";
import { isBroken, isUnfinished, stuckState } from "./step.ts";

/**
 * Time for which a deleted mount is checked, in milliseconds: its row may reappear when a hanging
 * mount ends.
 */
export const GONE = MOUNT_LIMIT + 20_000;

/** A mount in a round. */
export interface Job {
  readonly name: string;
  readonly wanted: WantedMount | undefined;
  readonly row: StorageRow | undefined;
  /** Reason for which the mount is not sent; empty: none. */
  readonly problem: Text;
  /** Its row at another path: the mount was moved on the site. */
  readonly moved?: StorageRow;
}

export interface PlanDeps {
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly driverOf: (name: string) => DriverInfo | undefined;
}

/** Inputs of a plan besides the mount, its row and its state. */
export interface PlanFacts {
  /** The mount as it is desired now; it may have been changed since the round began. */
  readonly wanted: WantedMount | undefined;
  /** Whether the mount may be written to the site. */
  readonly isWritable: boolean;
  /** Whether a user has requested it, despite earlier failures. */
  readonly isRequested: boolean;
  /** Last listings of the site's mounts, by path. */
  readonly listings: ReadonlyMap<string, Listing>;
}

/**
 * Plan of a round for one mount.
 * - `nothing`: also not with its state. `record`: the state is stored; undefined: it is removed.
 * - `apply`: calls are made, and the state before them has these corrections.
 */
export type Plan =
  | { readonly do: "nothing" }
  | { readonly do: "record"; readonly state: MountState | undefined }
  | {
      readonly do: "apply";
      readonly state: MountState;
      /** Whether it is mounted again even without differences. */
      readonly isRemount: boolean;
      /** Whether the mount was changed on the site, and is corrected. */
      readonly drifted: boolean;
    };

/** Decides what a round does with a mount. @param before its state. */
export function planOf(job: Job, before: MountState, facts: PlanFacts, deps: PlanDeps): Plan {
  const { wanted, isRequested, listings } = facts;
  const time = deps.now();
  if (job.wanted === undefined && job.row === undefined)
    return mayReturn(before, time) ? { do: "nothing" } : { do: "record", state: undefined };
  // The mount was changed or deleted since the round began.
  if ((wanted === undefined) !== (job.wanted === undefined)) return { do: "nothing" };
  const seen = readJob(wanted, job, before, deps);
  const isRemount = isRequested && wanted?.disabled === false && isFailing(job.row, listings);
  const isWritable = facts.isWritable && job.problem === "";
  if (!isWritable || !(seen.isOpen || isRemount)) {
    const isThere = wanted !== undefined && job.row !== undefined && seen.isEqual;
    const state = isThere ? { ...seen.state, applied: wanted.revision } : seen.state;
    return { do: "record", state };
  }
  const isTried = isWaiting(before, time) && before.tried === (wanted?.revision ?? 0);
  if (seen.isCostly && isTried && !isRequested) return { do: "nothing" };
  const { corrections, isFlapping } = correctionsAfter(before.corrections, {
    isRequested,
    drifted: seen.drifted,
    now: time,
  });
  if (isFlapping)
    return {
      do: "record",
      state: { ...seen.state, corrections, error: message("MOUNT_FLAPPING") },
    };
  const state = { ...before, corrections, tried: wanted?.revision ?? 0 };
  return { do: "apply", state, isRemount, drifted: seen.drifted };
}

/** Reports whether an enabled mount fails, by its status or by its last listing. */
export function isFailing(
  row: StorageRow | undefined,
  listings: ReadonlyMap<string, Listing>,
): boolean {
  if (row === undefined || row.disabled) return false;
  return isBroken(row) || (listings.get(row.mount_path)?.error ?? "") !== "";
}

/** Finds the row of each mount, and rows without a mount. */
export function identify(
  rows: readonly StorageRow[],
  wanted: readonly WantedMount[],
  known: ReadonlyMap<string, MountState>,
  forced: readonly string[],
): { readonly jobs: readonly Job[]; readonly extra: readonly ExtraMount[] } {
  const byPath = new Map(rows.map((row) => [row.mount_path, row]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const names = new Set(wanted.map(({ name }) => name));
  /** Last known row of a mount, if it is still the same mount. */
  const lastOf = (state: MountState): StorageRow | undefined => {
    const row = byId.get(state.id);
    return row?.mount_path === state.path && row.driver === state.driver ? row : undefined;
  };
  const jobs = wanted.map((mount): Job => {
    const state = known.get(mount.name) ?? NEW_MOUNT;
    const [last, there, named] = [lastOf(state), byPath.get(mount.path), byId.get(state.id)];
    const job = { name: mount.name, wanted: mount, row: last ?? there };
    if (mount.missing.length > 0)
      return {
        ...job,
        problem: message("MOUNT_INCOMPLETE", { items: mount.missing.join(", ") }),
      };
    if (last !== undefined && there !== undefined && last !== there)
      return {
        ...job,
        problem: message("MOUNT_PATH_TAKEN_THERE", { path: mount.path }),
      };
    if (job.row === undefined && named?.driver === mount.driver && !forced.includes(mount.name))
      return {
        ...job,
        problem: message("MOUNT_MOVED_THERE", { before: state.path, path: named.mount_path }),
        moved: named,
      };
    return { ...job, problem: "" };
  });
  const taken = new Set(jobs.flatMap(({ row, moved = row }) => (moved ? [moved.id] : [])));
  for (const [name, state] of known) {
    if (names.has(name)) continue;
    // Created by a call without an answer.
    const made = state.phase === "create" ? byPath.get(state.path) : undefined;
    const row = lastOf(state) ?? (made?.driver === state.driver ? made : undefined);
    const isFree = row !== undefined && !taken.has(row.id);
    jobs.push({ name, wanted: undefined, row: isFree ? row : undefined, problem: "" });
    if (isFree) taken.add(row.id);
  }
  const extra = rows
    .filter(({ id }) => !taken.has(id))
    .map(({ id, mount_path: path, driver, disabled }) => ({ id, path, driver, disabled }));
  return { jobs, extra };
}

/**
 * A mount that is not on the site yet waits for the folder rules at its path: its folders would be open
 * before.
 *
 * @param paths of rules that the site lacks.
 */
export function waitingForRules(job: Job, paths: readonly string[]): Job {
  const { wanted, row, problem } = job;
  if (wanted === undefined || row !== undefined || problem !== "") return job;
  const path = paths.find((rule) => isIn(rule, wanted.path) || isIn(wanted.path, rule));
  return path === undefined ? job : { ...job, problem: message("MOUNT_WAITS_FOR_RULE", { path }) };
}

/** Reports whether a path is a folder, or in it. */
function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/**
 * State of a mount before a round. A mount that already exists on the site keeps its credentials.
 */
export function stateBefore(
  { name, wanted, row }: Job,
  states: ReadonlyMap<string, MountState>,
): MountState {
  const known = states.get(name) ?? NEW_MOUNT;
  const isFirstSight = known.id === 0 && known.phase === "" && row !== undefined;
  return isFirstSight ? { ...known, credential: wanted?.credentialRevision ?? 0 } : known;
}

/**
 * Reports whether a row may still appear: it was deleted during a hanging mount, or its creation
 * had no reply.
 */
function mayReturn({ phase, since }: MountState, time: number): boolean {
  return (phase === "gone" || phase === "create") && Math.abs(time - since) <= GONE;
}

/** State of a mount after a read without changes. */
interface Seen {
  readonly state: MountState;
  /** Whether work is pending, including a change of the state alone. */
  readonly isOpen: boolean;
  /** Whether the site's mount is equal. */
  readonly isEqual: boolean;
  /** Whether the work needs a call, which may be a login at the provider. */
  readonly isCostly: boolean;
  /** Whether the mount was changed on the site. */
  readonly drifted: boolean;
}

function readJob(
  wanted: WantedMount | undefined,
  { row, problem, moved }: Job,
  before: MountState,
  deps: PlanDeps,
): Seen {
  const { hash, now, driverOf } = deps;
  const wasThere = before.applied > 0 && before.phase === "" && wanted !== undefined;
  const drifted = wasThere && wanted.revision <= before.applied;
  if (wanted === undefined || row === undefined)
    return {
      state: {
        ...before,
        // The row may have been created by a call without an answer.
        ...(row !== undefined && { id: row.id, path: row.mount_path, driver: row.driver }),
        absent: row === undefined,
        error: problem || before.error,
        ...(moved !== undefined && { differs: ["mount_path"] }),
      },
      isOpen: true,
      isCostly: true,
      isEqual: false,
      drifted: drifted && row === undefined,
    };
  const addition = readAddition(row.addition);
  const { push, adopt } =
    addition === undefined || row.driver !== wanted.driver
      ? { push: ["addition"], adopt: {} }
      : compareMount(wanted, row, addition, { state: before, hash });
  const differs = [...push, ...(row.disabled !== wanted.disabled ? ["disabled"] : [])];
  const since = isUnfinished(row) || before.unmounted ? before.since || now() : 0;
  const stuck = stuckState(row, isMounting({ since }, now()));
  const isUnconfirmed = before.unconfirmed && !row.disabled;
  const isDue = wanted.credentialRevision > before.credential;
  const isNormalised = isUnconfirmed && (before.phase === "" || before.phase === "mount");
  const hasNothingToAdopt = Object.keys(adopt).length === 0;
  const isCostly = stuck !== "" || isDue || (differs.length > 0 && !isNormalised);
  return {
    state: {
      ...before,
      id: row.id,
      path: row.mount_path,
      driver: row.driver,
      differs,
      since,
      absent: false,
      ...statusSeen(before, plainStatus(row, wanted, { driverOf }), now()),
      error: problem || (stuck === "" ? before.error : stuck),
    },
    isCostly,
    isEqual:
      problem === "" &&
      !isCostly &&
      !isUnconfirmed &&
      since === 0 &&
      before.phase === "" &&
      hasNothingToAdopt,
    isOpen:
      isCostly ||
      isUnconfirmed ||
      before.applied !== wanted.revision ||
      !hasNothingToAdopt ||
      (since === 0 && (before.phase !== "" || before.error !== "")),
    drifted: drifted && differs.length > 0 && !isUnconfirmed,
  };
}
