import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { Scalar } from "../../drivers/item-value.ts";
import { message, type Text } from "../../messages/message.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { NO_SECRETS, type OwnSecrets, ownSecretsOf } from "../destination.ts";
import type { Refusal } from "./client.ts";
import {
  compareMount,
  contentMarks,
  type Difference,
  differsFromLearned,
  learnedHash,
} from "./compare.ts";
import { itemKind } from "./item-kind.ts";
import { plainStatus } from "./plain.ts";
import {
  type Addition,
  readAddition,
  type StorageRow,
  updatedRow,
  type WantedMount,
} from "./row.ts";
import { isMounting, type MountState, statusSeen, withFailures } from "./state.ts";
import { isUnfinished, type Situation, type Step, stuckState } from "./step.ts";

/** Dependencies of the functions of a run. */
export interface RunDeps {
  readonly hash: Fingerprint;
  readonly now: () => number;
  readonly driverOf: (name: string) => DriverInfo | undefined;
}

/** State of the work on one mount of a site. Each call leads to the next state. */
export interface Run
  extends Pick<
    Situation,
    "isFresh" | "isUnmounted" | "isUndroppable" | "isToRemount" | "isOver" | "error"
  > {
  /** Undefined: the mount is to be deleted. */
  readonly wanted: WantedMount | undefined;
  /** Row of the list of this round. */
  readonly listed: StorageRow | undefined;
  /** Row as it was last read. */
  readonly row: StorageRow | undefined;
  readonly state: MountState;
  /** Whether a push of this run, or of an earlier one, was mounted and not compared yet. */
  readonly hasPushed: boolean;
  /** Whether that push has created the mount. */
  readonly hasCreated: boolean;
  /** Time of the last save of the row after an update of this run; undefined: unknown. */
  readonly savedAt: number | undefined;
  /** Names of items and members that differ after a push, and are left to the next round. */
  readonly left: ReadonlySet<string>;
  /** Whether the run corrects a change by another client. */
  readonly isDrifted: boolean;
  /** Whether the run changes items: the site's cached listings are outdated then. */
  readonly changesItems: boolean;
}

const NONE_LEFT: ReadonlySet<string> = new Set();

/** @param remount whether an enabled mount is disabled and enabled even without differences. */
export function beginRun(
  wanted: WantedMount | undefined,
  listed: StorageRow | undefined,
  state: MountState,
  remount: boolean,
): Run {
  return {
    wanted,
    listed,
    row: listed,
    state,
    isFresh: false,
    isUnmounted: false,
    isUndroppable: false,
    isToRemount: remount,
    isOver: false,
    error: "",
    // The site has normalised the values of an earlier run in the meantime.
    hasPushed: state.unconfirmed && (state.phase === "" || state.phase === "mount"),
    hasCreated: false,
    savedAt: undefined,
    left: NONE_LEFT,
    isDrifted: false,
    changesItems: false,
  };
}

/** Row of a run with derived values. */
export interface Compared {
  readonly row: StorageRow;
  readonly addition: Addition;
  readonly difference: Difference;
  readonly secrets: OwnSecrets;
}

/** @returns undefined when there is no row, or its configuration can't be read. */
export function compareRun(run: Run, { hash, driverOf }: RunDeps): Compared | undefined {
  const { row, wanted, state } = run;
  if (row === undefined) return undefined;
  const none = { push: [], adopt: {} };
  if (wanted === undefined) return { row, addition: {}, difference: none, secrets: NO_SECRETS };
  const addition = readAddition(row.addition);
  if (addition === undefined) return undefined;
  if (wanted.driver !== row.driver) return { row, addition, difference: none, secrets: NO_SECRETS };
  const difference = compareMount(wanted, row, addition, { state, hash });
  const secrets = ownSecretsOf(wanted, addition, difference.push, driverOf(wanted.driver));
  return { row, addition, difference, secrets };
}

export function situationOf(run: Run, compared: Compared | undefined, { now }: RunDeps): Situation {
  const { row, wanted, state } = run;
  const push = compared?.difference.push ?? [];
  const differs = push.some((name) => !run.left.has(name)) || isCredentialDue(run);
  return {
    row,
    wanted,
    differs: row !== undefined && differs,
    isFresh: run.isFresh,
    isReadable: compared !== undefined,
    keptSecrets: compared?.secrets.kept ?? [],
    isUnconfirmed: run.hasPushed,
    isUnmounted: run.isUnmounted,
    isUndroppable: run.isUndroppable,
    isMounting: isMounting(state, now()),
    isToRemount: run.isToRemount,
    isOver: run.isOver,
    error: run.error,
  };
}

function isCredentialDue({ wanted, state }: Run): boolean {
  if (wanted === undefined || wanted.credentialRevision <= state.credential) return false;
  return Object.keys(wanted.items).some((name) => itemKind(wanted.driver, name) === "learned");
}

/** The run after its row was read by its id. */
export function afterRead(run: Run, row: StorageRow | undefined): Run {
  const { listed } = run;
  const isOther =
    row !== undefined &&
    listed !== undefined &&
    (row.driver !== listed.driver || row.mount_path !== listed.mount_path);
  if (!isOther) return { ...run, row, isFresh: true };
  return { ...run, row: undefined, isFresh: true, error: message("MOUNT_ID_TAKEN") };
}

/** State that is stored before a call, so that a crash after it can be recovered from. */
export function stateBefore({ wanted, row, state }: Run, step: Step, time: number): MountState {
  if (step === "create" && wanted !== undefined) {
    const { path, driver, credentialRevision: credential, revision: sent } = wanted;
    return { ...state, phase: "create", since: time, path, driver, credential, sent };
  }
  if (row === undefined || (state.phase !== "" && state.id === row.id)) return state;
  return {
    ...state,
    phase: wanted === undefined ? "delete" : "change",
    id: row.id,
    since: state.since || time,
    path: row.mount_path,
    driver: row.driver,
  };
}

/** An update, with the states before and after it. */
export interface Update {
  readonly row: StorageRow;
  /** Stored before the call. */
  readonly before: MountState;
  readonly after: MountState;
  /** Whether it has new credentials: the state after it is stored. */
  readonly sendsCredential: boolean;
  readonly changesItems: boolean;
}

export function planUpdate(run: Run, compared: Compared, { hash }: RunDeps): Update {
  const { wanted, state } = run;
  const { row, addition, difference, secrets } = compared;
  if (wanted === undefined) {
    const before = { ...state, unconfirmed: true };
    const after: MountState = { ...before, sent: 0, phase: "delete" };
    const { changesItems } = run;
    const disabled = { ...row, disabled: true };
    return { row: disabled, before, after, changesItems, sendsCredential: false };
  }
  const { push, adopt } = difference;
  // At first contact, the site's credentials are of another destination.
  const isDue = isCredentialDue(run) || (secrets.moves && state.applied === 0);
  // An earlier push was stored, or the server has refreshed the item: the site's value is newer.
  const isNewerThere =
    !secrets.moves && state.before !== "" && differsFromLearned(state.before, compared, hash);
  const sendsCredential = isDue && !isNewerThere;
  const credential = wanted.credentialRevision;
  const settled: Partial<MountState> = isDue ? { credential, before: "" } : {};
  const before: MountState = {
    ...state,
    unconfirmed: true,
    ...(sendsCredential ? { before: learnedHash(row, addition, hash) } : settled),
  };
  const after: MountState = { ...before, ...settled, sent: wanted.revision, phase: "mount" };
  const unchanged = Object.keys(state.rewritten).filter((name) => !push.includes(name));
  return {
    row: updatedRow(row, addition, wanted, {
      credential: sendsCredential,
      keep: new Set([...Object.keys(adopt), ...unchanged, ...run.left]),
      drop: secrets.refreshed,
    }),
    before,
    after,
    sendsCredential,
    changesItems:
      run.changesItems || isDue || push.some((name) => Object.hasOwn(wanted.items, name)),
  };
}

/** The run after a call that has succeeded. @param row as it was read back. */
export function afterCall(run: Run, step: Step, row: StorageRow | undefined, time: number): Run {
  // Disabled: enabling it mounts it again.
  const isToRemount = run.isToRemount && row?.disabled !== true;
  const next = { ...run, row, isToRemount };
  switch (step) {
    case "create":
      return row === undefined
        ? { ...next, error: message("MOUNT_NOT_LISTED") }
        : mounted({ ...next, state: { ...run.state, id: row.id } }, step);
    case "update":
      return { ...next, isUnmounted: false };
    case "enable":
      // Another client has disabled it in the meantime.
      return mounted({ ...next, isDrifted: run.isDrifted || row?.disabled === true }, step);
    case "disable":
      return next;
    case "delete":
      return row === undefined
        ? deleted(next, time)
        : { ...next, error: message("MOUNT_STILL_LISTED") };
  }
}

/** Failure of a call about a mount. */
export interface FailedCall {
  /** Undefined: the server has not answered. */
  readonly refusal: Refusal | undefined;
  /** For people, without secrets. */
  readonly text: Text;
  /** First line of the server's message. */
  readonly words: string;
  /** Whether the call may have been executed. */
  readonly isUncertain: boolean;
}

/** State that is stored after a failed call, before the row is read back. */
export function stateAfterFailure(
  run: Run,
  step: Step,
  failed: FailedCall,
  time: number,
): MountState {
  const { state } = run;
  // No answer: the mount may still be created, and is checked again.
  if (failed.isUncertain) return { ...state, since: time };
  const isOut = step === "disable" && failed.refusal === "unmounted";
  return isOut && state.since === 0 ? { ...state, since: time } : state;
}

/** The run after a call that has failed. @param row as it was read back. */
export function afterFailure(
  run: Run,
  step: Step,
  failed: FailedCall,
  row: StorageRow | undefined,
  time: number,
): Run {
  const { refusal, text, words } = failed;
  const state = step === "create" && row !== undefined ? { ...run.state, id: row.id } : run.state;
  const next = { ...run, state, row };
  if (step === "delete")
    return row === undefined ? deleted(next, time) : { ...next, error: errorOf(), isOver: true };
  if (step === "disable" && refusal === "unmounted") return { ...next, isUnmounted: true };
  if (step === "disable" && run.wanted === undefined && /drop/i.test(words))
    return { ...next, isUndroppable: true };
  const isStored = refusal === "stored" || (step === "create" && refusal === undefined);
  const ended = { ...next, error: errorOf() };
  return isStored && row !== undefined ? mounted(ended, step) : ended;

  /** Refusals that are not errors: the row shows the next call. */
  function errorOf(): Text {
    return refusal === "already" || refusal === "absent" || refusal === "stored" ? "" : text;
  }
}

/** The end of a mount, successful or not: the driver has written the row that was read. */
function mounted(run: Run, step: Step): Run {
  if (step !== "create") return { ...run, isFresh: true, hasPushed: run.state.unconfirmed };
  const state: MountState = { ...run.state, phase: "mount", unconfirmed: true };
  return { ...run, isFresh: true, hasCreated: true, hasPushed: true, state };
}

function deleted(run: Run, time: number): Run {
  // The row of a hanging mount reappears when the mount ends, so the site is checked once more.
  const state: MountState = { ...run.state, phase: "gone", since: time };
  return { ...run, row: undefined, isOver: true, error: "", state };
}

/** Result of a run: the state to be stored, and content of the site for adoption. */
export interface Ended {
  readonly state: MountState;
  readonly adopt: Readonly<Record<string, Scalar>>;
  /** Whether a change by another client was corrected. */
  readonly drifted: boolean;
}

export function endRun(run: Run, deps: RunDeps): Ended {
  const compared = compareRun(run, deps);
  const state = run.row === undefined ? absentState(run, deps) : presentState(run, compared, deps);
  return { state, adopt: compared?.difference.adopt ?? {}, drifted: run.isDrifted };
}

function absentState({ state, error }: Run, { now }: RunDeps): MountState {
  const time = now();
  return {
    ...state,
    ...statusSeen(state, "", time),
    // The id distinguishes a row that comes back from one that a user has created.
    id: state.phase === "gone" ? state.id : 0,
    error,
    absent: true,
    ...withFailures(error === "" ? 0 : state.failures + 1, time),
  };
}

function presentState(run: Run, compared: Compared | undefined, deps: RunDeps): MountState {
  const { wanted, state, error } = run;
  const row = run.row as StorageRow;
  const time = deps.now();
  const isOut = run.isUnmounted && !row.disabled;
  const since = isUnfinished(row) || isOut ? state.since || time : 0;
  const push = compared?.difference.push ?? [];
  // What another client has changed after the push is not part of it.
  const isPushed = push.every(
    (name) => run.left.has(name) && !Object.hasOwn(state.unexplained, name),
  );
  const isThere =
    error === "" && wanted !== undefined && isPushed && row.disabled === wanted.disabled;
  return {
    ...state,
    id: row.id,
    path: row.mount_path,
    driver: row.driver,
    since,
    unmounted: isOut,
    phase: isThere ? "" : state.phase,
    applied: isThere ? wanted.revision : state.applied,
    content:
      compared === undefined || wanted === undefined
        ? state.content
        : { ...state.content, ...contentMarks(wanted, compared.addition, deps.hash) },
    differs: [...push, ...(wanted && row.disabled !== wanted.disabled ? ["disabled"] : [])],
    ...statusSeen(state, plainStatus(row, wanted, deps), time),
    absent: false,
    error: error || stuckState(row, isMounting({ since }, time)),
    ...withFailures(isThere ? 0 : state.failures + 1, time),
  };
}
