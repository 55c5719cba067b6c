import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Scalar } from "../../drivers/item-value.ts";
import { message, type Text } from "../../messages/message.ts";
import { hasCome } from "../../periodic.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { isUncertain, plainMessage, SiteFailure } from "../../sync/failure.ts";
import { NO_SECRETS, type OwnSecrets, ownSecretsOf } from "../destination.ts";
import { MOUNT_LIMIT, refusalOf, type StorageClient } from "./client.ts";
import { compareMount, contentMarks, type Difference, learnedHash, marksOf } from "./compare.ts";
import { itemKind } from "./item-kind.ts";
import { plainStatus, secretsOf } from "./plain.ts";
import {
  type Addition,
  newRow,
  readAddition,
  type StorageRow,
  updatedRow,
  type WantedMount,
} from "./row.ts";
import { type MountState, statusSeen } from "./state.ts";
import { isUnfinished, nextStep, type Step, stuckState } from "./step.ts";

/** Maximum number of calls of one run: the longest sequence through the stuck states has eight. */
const MAX_STEPS = 12;

export interface ApplyDeps {
  readonly client: StorageClient;
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /**
   * Stores the state before a step from which a crash could not be recovered otherwise.
   *
   * @throws when the write fails, or this process may no longer write to the site.
   */
  readonly persist: (state: MountState) => Promise<void>;
}

/** Result of a run for one mount. */
export interface Applied {
  readonly state: MountState;
  /** Calls that changed the site, in order. */
  readonly steps: readonly Step[];
  /** Content of the site for adoption. */
  readonly take: Readonly<Record<string, Scalar>>;
}

/** Row with derived values. */
interface Seen {
  readonly row: StorageRow;
  readonly addition: Addition;
  readonly difference: Difference;
}

/**
 * Updates one mount of a site to the desired state, or stops in a state from which the next round
 * continues. Each write follows a read of the same row by its id. Without differences nothing is
 * sent.
 *
 * @param wanted undefined: the mount is to be deleted.
 * @param listed row of the list of this round.
 * @param remount whether an enabled mount is disabled and enabled even without differences.
 * @throws SiteFailure when the site can't be reached; what `persist` throws.
 */
export async function applyMount(
  wanted: WantedMount | undefined,
  listed: StorageRow | undefined,
  before: MountState,
  deps: ApplyDeps,
  remount = false,
): Promise<Applied> {
  const { client, hash, now } = deps;
  let state = before;
  let row = listed;
  let unmounted = false;
  let isToRemount = remount;
  let error: Text = "";
  let undroppable = false;
  // The site has normalised the values of an earlier run in the meantime.
  let hasPushed = before.unread && (before.phase === "" || before.phase === "mount");
  let justCreated = false;
  let isFresh = false;
  let changesItems = false;
  const steps: Step[] = [];
  let seen: Seen | undefined;

  const save = async (changes: Partial<MountState>): Promise<void> => {
    state = { ...state, ...changes };
    await deps.persist(state);
  };
  const look = (): Seen | undefined => {
    if (row === undefined) return undefined;
    const addition = wanted === undefined ? {} : readAddition(row.addition);
    if (addition === undefined) throw new BrokenAddition();
    const difference =
      wanted === undefined || wanted.driver !== row.driver
        ? { push: [], take: {} }
        : compareMount(wanted, row, addition, { state, hash });
    return { row, addition, difference };
  };
  const credentialIsDue = (): boolean =>
    wanted !== undefined && wanted.credentialRevision > state.credential && hasLearned(wanted);

  try {
    for (let count = 0; count < MAX_STEPS; count += 1) {
      seen = look();
      if (hasPushed && seen?.row.disabled === false && wanted !== undefined) {
        if (isUnfinished(seen.row)) break;
        // The driver has normalised the sent values: the result counts as equal. AList sets this
        // member in each create, and accepts its value in an update.
        const names = seen.difference.push.filter(
          (name) => !(justCreated && name === "down_proxy_sign"),
        );
        const marks = marksOf(names, wanted, seen.row, seen.addition, hash);
        state = { ...state, rewritten: { ...state.rewritten, ...marks }, unread: false };
        hasPushed = false;
        justCreated = false;
        seen = look();
      }
      const step = nextStep({
        row,
        wanted,
        differs:
          (seen?.difference.push.length ?? 0) > 0 || (row !== undefined && credentialIsDue()),
        unmounted,
        undroppable,
        mounting: row !== undefined && isMounting(state, now()),
        remount: isToRemount,
      });
      if (step === "done") break;
      if (step === "conflict") {
        error = message("MOUNT_OTHER_DRIVER", { driver: row?.driver ?? "" });
        break;
      }
      if (step === "wait") {
        error = message("MOUNT_UNDER_WAY");
        break;
      }
      const own = seen === undefined ? NO_SECRETS : ownSecrets(seen);
      if (own.kept.length > 0) {
        error = message("MOUNT_SECRETS_OF_SITE", { items: own.kept.join(", ") });
        break;
      }
      // The list may be outdated: each write follows a read of the row by its id.
      if (row !== undefined && !isFresh) {
        const { id } = row;
        row = await readBack(id);
        isFresh = true;
        if (row !== undefined && !isSameMount(row, listed)) {
          error = message("MOUNT_ID_TAKEN");
          row = undefined;
          break;
        }
        continue;
      }
      const secrets = secretsOf(wanted, row, deps);
      try {
        const isLast = await run(step, secrets);
        if (isLast) break;
      } catch (failure) {
        if (!(failure instanceof SiteFailure)) throw failure;
        const refusal = refusalOf(failure);
        if (refusal === undefined && failure.kind !== "silent") throw failure;
        if (refusal === "unmounted" && step === "disable") {
          if (state.since === 0) await save({ since: now() });
          unmounted = true;
        } else if (step === "disable" && wanted === undefined && /drop/i.test(failure.words))
          undroppable = true;
        else if (refusal !== "already" && refusal !== "absent" && refusal !== "stored")
          error = failure.words === "" ? failure.text : plainMessage(failure.words, secrets);
        // No answer: the mount may still be created, and is checked again.
        if (isUncertain(failure)) await save({ since: now() });
        row = step === "create" ? await byPath() : await readBack(state.id);
        if (step === "delete") {
          if (row === undefined) deleted();
          break;
        }
        const isStored = refusal === "stored" || (step === "create" && refusal === undefined);
        if (isStored && row !== undefined) mounted(step);
        if (error !== "") break;
      }
    }
    seen = look();
  } catch (failure) {
    if (!(failure instanceof BrokenAddition)) throw failure;
    error = failure.message;
  }
  return { state: settle(), steps, take: seen?.difference.take ?? {} };

  function ownSecrets({ addition, difference }: Seen): OwnSecrets {
    if (wanted === undefined) return NO_SECRETS;
    return ownSecretsOf(wanted, addition, difference.push, deps.driverOf(wanted.driver));
  }

  /** @returns whether the run is complete. */
  async function run(step: Step, secrets: readonly string[]): Promise<boolean> {
    steps.push(step);
    if (step === "create") {
      if (wanted === undefined) return true;
      const { path, driver, credentialRevision } = wanted;
      await save({
        phase: "create",
        since: now(),
        path,
        driver,
        credential: credentialRevision,
        sent: wanted.revision,
      });
      await client.create(newRow(wanted, deps.driverOf(driver)), secrets);
      row = await byPath();
      if (row === undefined) error = message("MOUNT_NOT_LISTED");
      else mounted(step);
      return row === undefined;
    }
    if (row === undefined) return true;
    const { id } = row;
    if (state.phase === "" || state.id !== id)
      await save({
        phase: wanted === undefined ? "delete" : "change",
        id,
        since: state.since || now(),
        path: row.mount_path,
        driver: row.driver,
      });
    if (step === "update") {
      await update(row, secrets);
      unmounted = false;
      state = { ...state, phase: wanted === undefined ? "delete" : "mount" };
    } else await client.act(step as "enable" | "disable" | "delete", id, secrets);
    row = await readBack(id);
    // Disabled: enabling it mounts it again.
    if (row?.disabled === true) isToRemount = false;
    if (step === "delete") {
      if (row === undefined) deleted();
      else error = message("MOUNT_STILL_LISTED");
      return true;
    }
    if (step === "enable") {
      mounted(step);
      if (changesItems && row?.status === "work")
        await client.refresh(row.mount_path).catch((failure: unknown) => {
          // The mount exists; its probes check whether it can be listed.
          if (!(failure instanceof SiteFailure)) throw failure;
        });
    }
    return false;
  }

  /**
   * Records the end of a mount, successful or not: the driver has written the row that is read
   * next.
   */
  function mounted(step: Step): void {
    isFresh = true;
    if (step === "create") {
      justCreated = true;
      state = { ...state, phase: "mount", unread: true };
    }
    hasPushed = state.unread;
  }

  function deleted(): void {
    error = "";
    // The row of a hanging mount reappears when the mount ends, so the site is checked once more.
    state = { ...state, phase: "gone", since: now() };
  }

  async function update(from: StorageRow, secrets: readonly string[]): Promise<void> {
    const addition = wanted === undefined ? {} : readAddition(from.addition);
    if (addition === undefined) throw new BrokenAddition();
    const current = look();
    const { push, take } = current?.difference ?? { push: [], take: {} };
    const { moves, refreshed } = current === undefined ? NO_SECRETS : ownSecrets(current);
    // At first contact, the site's credentials are of another destination.
    const isDue = credentialIsDue() || (moves && state.applied === 0);
    changesItems ||= isDue || push.some((name) => Object.hasOwn(wanted?.items ?? {}, name));
    const learned = learnedHash(from, addition, hash);
    let credential = isDue;
    if (isDue && !moves && state.before !== "" && state.before !== (learned || NONE)) {
      // An earlier push was stored, or the server has refreshed the item: the site's value is
      // newer.
      credential = false;
      state = { ...state, credential: wanted?.credentialRevision ?? 0, before: "" };
    }
    await save({ unread: true, ...(credential && { before: learned || NONE }) });
    const keep = new Set([...Object.keys(take), ...keptItems()]);
    const next =
      wanted === undefined
        ? { ...from, disabled: true }
        : updatedRow(from, addition, wanted, { credential, keep, drop: refreshed });
    await client.update(next, secrets);
    state = { ...state, sent: wanted?.revision ?? 0 };
    if (credential) await save({ credential: wanted?.credentialRevision ?? 0, before: "" });
  }

  /** Names of items that the site has normalised: a push would not change them. */
  function keptItems(): string[] {
    const push = new Set(look()?.difference.push);
    return Object.keys(state.rewritten).filter((name) => !push.has(name));
  }

  async function byPath(): Promise<StorageRow | undefined> {
    const rows = await client.list();
    const path = wanted?.path ?? state.path;
    const found = rows.find((each) => each.mount_path === path);
    if (found !== undefined) state = { ...state, id: found.id };
    return found;
  }

  async function readBack(id: number): Promise<StorageRow | undefined> {
    return id === 0 ? undefined : client.get(id);
  }

  /** The state at the end of the run. */
  function settle(): MountState {
    const time = now();
    const at = seen?.row ?? row;
    if (at === undefined) {
      const failed = error === "" ? 0 : state.failures + 1;
      // The id distinguishes a row that comes back from one that a user has created.
      const id = state.phase === "gone" ? state.id : 0;
      return {
        ...state,
        ...statusSeen(state, "", time),
        id,
        error,
        absent: true,
        failures: failed,
        ...retryOf(failed, time),
      };
    }
    const isOut = unmounted && !at.disabled;
    const since = isUnfinished(at) || isOut ? state.since || time : 0;
    const mounting = isMounting({ ...state, since }, time);
    const push = seen?.difference.push ?? [];
    const isThere =
      error === "" && wanted !== undefined && push.length === 0 && at.disabled === wanted.disabled;
    const stuck = stuckState(at, mounting);
    const failed = isThere ? 0 : state.failures + 1;
    const learned = seen === undefined ? state.learned : learnedHash(at, seen.addition, hash);
    return {
      ...state,
      id: at.id,
      path: at.mount_path,
      driver: at.driver,
      since,
      learned,
      unmounted: isOut,
      phase: isThere ? "" : state.phase,
      applied: isThere ? wanted.revision : state.applied,
      content:
        seen === undefined || wanted === undefined
          ? state.content
          : { ...state.content, ...contentMarks(wanted, seen.addition, hash) },
      differs: [...push, ...(wanted && at.disabled !== wanted.disabled ? ["disabled"] : [])],
      ...statusSeen(state, plainStatus(at, wanted, deps), time),
      absent: false,
      error: error || stuck,
      failures: failed,
      ...retryOf(failed, time),
    };
  }
}

/** Placeholder for the hash of a row without learned items. */
const NONE = "none";

class BrokenAddition extends Error {
  constructor() {
    super(
      "the configuration on the site is not a JSON object, or has more than 1,000 values: correct or delete the mount there",
    );
  }
}

/** First and longest pause after a failure with one mount, in milliseconds. */
const FIRST_PAUSE = 10_000;
const LONGEST_PAUSE = 3_600_000;

/**
 * Next attempt after failures. Each attempt may be a login at the provider: the pause doubles up to
 * an hour.
 */
function retryOf(failures: number, time: number): Pick<MountState, "nextTry"> {
  return { nextTry: failures === 0 ? 0 : time + pauseAfter(failures) };
}

function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE * 2 ** Math.max(0, Math.min(failures - 1, 20)), LONGEST_PAUSE);
}

/** Reports whether the next attempt after failures is still to come. */
export function isWaiting(
  { failures, nextTry }: Pick<MountState, "failures" | "nextTry">,
  time: number,
): boolean {
  return !hasCome(nextTry, { now: time, longest: pauseAfter(failures) });
}

/** Reports whether an unfinished mount may still complete: a hanging provider takes two minutes. */
export function isMounting({ since }: Pick<MountState, "since">, time: number): boolean {
  return since === 0 || Math.abs(time - since) < MOUNT_LIMIT;
}

function isSameMount(row: StorageRow, listed: StorageRow | undefined): boolean {
  return (
    listed === undefined || (row.driver === listed.driver && row.mount_path === listed.mount_path)
  );
}

function hasLearned(mount: WantedMount): boolean {
  return Object.keys(mount.items).some((name) => itemKind(mount.driver, name) === "learned");
}
