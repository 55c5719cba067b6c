import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Scalar } from "../../drivers/item-value.ts";
import { memoize } from "../../memoize.ts";
import { message, type Text } from "../../messages/message.ts";
import { setOwn } from "../../own-value.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { countCorrection, recentCorrections } from "../../sync/flapping.ts";
import { createTicks } from "../../ticks.ts";
import { type ApplyDeps, applyMount } from "./apply.ts";
import { MOUNT_LIMIT, type StorageClient } from "./client.ts";
import { compareMount } from "./compare.ts";
import { plainStatus } from "./plain.ts";
import type { MountRegistry } from "./registry.ts";
import { readAddition, type StorageRow, type WantedMount } from "./row.ts";
import {
  type ExtraMount,
  isMounting,
  isWaiting,
  type Listing,
  listingForm,
  type MountState,
  NEW_MOUNT,
  statusSeen,
} from "./state.ts";
import { isBroken, isUnfinished, type Step, stuckState } from "./step.ts";

/**
 * Time for which a deleted mount is checked, in milliseconds: its row may reappear when a hanging
 * mount ends.
 */
const GONE = MOUNT_LIMIT + 20_000;

export interface MountRoundDeps {
  readonly client: StorageClient;
  readonly registry: MountRegistry;
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Current desired mounts of the site, which may change during a round. */
  readonly wanted: () => readonly WantedMount[];
  /** Resolves when work on the next mount may start, after other work of the process. */
  readonly rateLimit: () => Promise<void>;
  /** Reports whether this process may still write to the site. */
  readonly mayWrite: () => boolean;
  /** Reports whether the site follows now, so that mounts are written without a request. */
  readonly follows: () => boolean;
}

export interface MountRoundOptions {
  readonly siteId: string;
  /** `read`: a round without writes. `push`: writes the mounts of `forced`, and all if the site follows. */
  readonly aim: "read" | "push";
  /** Names of mounts that are tried despite earlier failures. */
  readonly forced: readonly string[];
}

/** Result of a round for one mount. */
interface MountDone {
  readonly name: string;
  readonly path: string;
  readonly steps: readonly Step[];
  /** Whether the mount was changed on the site, and corrected. */
  readonly drifted: boolean;
  /** Empty: no error. */
  readonly error: Text;
}

/** Result of a round. */
export interface MountRound {
  readonly rows: readonly StorageRow[];
  readonly extra: readonly ExtraMount[];
  readonly done: readonly MountDone[];
  /** New states of unchanged mounts, by name. */
  readonly states: Readonly<Record<string, MountState | undefined>>;
  /** Content that users have edited on the site, by mount. */
  readonly adopt: Readonly<Record<string, Readonly<Record<string, Scalar>>>>;
}

/** Error of a round that must stop: another process follows the sites now. */
export class LeaseLost extends Error {}

interface Job {
  readonly name: string;
  readonly wanted: WantedMount | undefined;
  readonly row: StorageRow | undefined;
  /** Reason for which the mount is not sent; empty: none. */
  readonly problem: Text;
  /** Its row, at another path since somebody has moved it on the site. */
  readonly moved?: StorageRow;
}

/**
 * Reads the list of a site's mounts once, and updates each differing mount to the desired state,
 * one at a time. Mounts with earlier failures come last.
 *
 * @throws SiteFailure when the site can't be reached; LeaseLost; ServiceError of the database.
 */
export async function runMountRound(
  { siteId, aim, forced }: MountRoundOptions,
  deps: MountRoundDeps,
): Promise<MountRound> {
  const { client, registry, now } = deps;
  const rows = await client.list();
  const site = registry.site(siteId);
  const contacted = site.contacted || rows.length === 0 || forced.length > 0;
  const { jobs, extra } = identify(rows, deps.wanted(), registry.mounts(siteId), forced);
  const base = {
    ...site,
    contacted,
    readAt: site.readAt,
    extra: extra.slice(0, MAX_EXTRA),
    error: "",
    errorKind: "",
    errorSince: 0,
  };
  await registry.put(siteId, { site: { ...base, failures: 0, nextTry: 0 } });
  const done: MountDone[] = [];
  const adopt: Record<string, Readonly<Record<string, Scalar>>> = {};
  const failures = (name: string): number => registry.mounts(siteId).get(name)?.failures ?? 0;
  const states: Record<string, MountState | undefined> = {};
  const listings = registry.listings(siteId);
  const requested = new Set(forced);
  const byName = memoize(
    (mounts: readonly WantedMount[]) => new Map(mounts.map((mount) => [mount.name, mount])),
  );
  const ticks = createTicks();
  for (const job of jobs.toSorted((a, b) => failures(a.name) - failures(b.name))) {
    if (ticks.isDue()) await ticks.next();
    const isRequested = requested.has(job.name);
    // The site may have been set to observe since the round began.
    const isChosen = aim === "push" && (isRequested || deps.follows());
    const isWriting = isChosen && contacted && job.problem === "";
    const before = stateOf(job, registry, siteId);
    if (job.wanted === undefined && job.row === undefined) {
      if (!mayReturn(before, now())) setOwn(states, job.name, undefined);
      continue;
    }
    // The mount may have been changed or deleted since the round began.
    const wanted = byName(deps.wanted()).get(job.name);
    if ((wanted === undefined) !== (job.wanted === undefined)) continue;
    const seen = readJob(wanted, job, before, deps);
    const isRemount = isRequested && wanted?.disabled === false && isFailing(job.row, listings);
    if (!isWriting || !(seen.isOpen || isRemount)) {
      const isThere = wanted !== undefined && job.row !== undefined && seen.isEqual;
      const state = isThere ? { ...seen.state, applied: wanted.revision } : seen.state;
      setOwn(states, job.name, state);
      continue;
    }
    const isTried = isWaiting(before, now()) && before.tried === (wanted?.revision ?? 0);
    if (seen.isCostly && isTried && !isRequested) continue;
    const { corrections, isFlapping } = correctionsOf(before, seen.drifted, now(), isRequested);
    if (isFlapping) {
      const error = message("MOUNT_FLAPPING");
      setOwn(states, job.name, { ...seen.state, corrections, error });
      continue;
    }
    await deps.rateLimit();
    const persist: ApplyDeps["persist"] = async (state) => {
      if (!deps.mayWrite()) throw new LeaseLost();
      await registry.put(siteId, { mounts: { [job.name]: state } });
    };
    const applied = await applyMount(
      wanted,
      job.row,
      { ...before, corrections, tried: wanted?.revision ?? 0 },
      { ...deps, persist },
      isRemount,
    );
    await registry.put(siteId, { mounts: { [job.name]: applied.state } });
    if (Object.keys(applied.adopt).length > 0) setOwn(adopt, job.name, applied.adopt);
    if (applied.steps.length > 0 || String(applied.state.error) !== String(before.error))
      done.push({
        name: job.name,
        path: wanted?.path ?? before.path,
        steps: applied.steps,
        drifted: seen.drifted,
        error: applied.state.error,
      });
  }
  const rest =
    forced.length === 0 ? base.forced : base.forced.filter((name) => !requested.has(name));
  const isSettled =
    done.length === 0 && site.contacted === contacted && Object.keys(states).length === 0;
  await registry.put(siteId, {
    mounts: states,
    listings: outdated(listings, rows),
    site: {
      ...base,
      forced: rest,
      failures: 0,
      nextTry: 0,
      // An idle round writes nothing.
      readAt: isSettled && Math.abs(now() - site.readAt) < GONE ? site.readAt : now(),
    },
  });
  return { rows, extra, done, states, adopt };
}

/** Reports whether an enabled mount fails, by its status or by its last listing. */
export function isFailing(
  row: StorageRow | undefined,
  listings: ReadonlyMap<string, Listing>,
): boolean {
  if (row === undefined || row.disabled) return false;
  return isBroken(row) || (listings.get(row.mount_path)?.error ?? "") !== "";
}

/** Listings of rows that were changed, disabled or deleted, for removal. */
function outdated(
  listings: ReadonlyMap<string, Listing>,
  rows: readonly StorageRow[],
): Record<string, undefined> {
  const forms = new Map(
    rows.flatMap((row) => (row.disabled ? [] : [[row.mount_path, listingForm(row)]])),
  );
  const old = [...listings].filter(([path, { form }]) => forms.get(path) !== form);
  return Object.fromEntries(old.map(([path]) => [path, undefined]));
}
/** Maximum number of unknown mounts of a site that are stored. */
const MAX_EXTRA = 1_000;

/** Finds the row of each mount, and rows without a mount. */
function identify(
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
 * State of a mount before a round. A mount that already exists on the site keeps its credentials.
 */
function stateOf({ name, wanted, row }: Job, registry: MountRegistry, siteId: string): MountState {
  const known = registry.mounts(siteId).get(name) ?? NEW_MOUNT;
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
  deps: MountRoundDeps,
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
  const isUnread = before.unread && !row.disabled;
  const isDue = wanted.credentialRevision > before.credential;
  const isNormalised = isUnread && (before.phase === "" || before.phase === "mount");
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
      !isUnread &&
      since === 0 &&
      before.phase === "" &&
      hasNothingToAdopt,
    isOpen:
      isCostly ||
      isUnread ||
      before.applied !== wanted.revision ||
      !hasNothingToAdopt ||
      (since === 0 && (before.phase !== "" || before.error !== "")),
    drifted: drifted && differs.length > 0 && !isUnread,
  };
}

/** Corrections of a mount with this one, and whether it is not corrected because it is flapping. */
function correctionsOf(
  { corrections }: MountState,
  drifted: boolean,
  time: number,
  isForced: boolean,
): { readonly corrections: readonly number[]; readonly isFlapping: boolean } {
  if (isForced) return { corrections: [], isFlapping: false };
  if (!drifted) return { corrections: recentCorrections(corrections, time), isFlapping: false };
  const { times, isFlapping } = countCorrection(corrections, time);
  return { corrections: isFlapping ? corrections : times, isFlapping };
}
