import { isUncertain, plainMessage, SiteFailure } from "../../sync/failure.ts";
import { refusalOf, type StorageClient } from "./client.ts";
import { afterConfirmation, afterUpdate } from "./confirm.ts";
import { secretsOf } from "./plain.ts";
import { newRow, type StorageRow, type WantedMount } from "./row.ts";
import {
  afterCall,
  afterFailure,
  afterRead,
  beginRun,
  type Compared,
  compareRun,
  type Ended,
  endRun,
  type FailedCall,
  planUpdate,
  type Run,
  type RunDeps,
  situationOf,
  stateAfterFailure,
  stateBefore,
  type Update,
} from "./run.ts";
import type { MountState } from "./state.ts";
import { type Next, nextStep, type Step } from "./step.ts";

/** Maximum number of decisions of one run: the longest sequence through the stuck states has ten. */
const MAX_STEPS = 14;

export interface ApplyDeps extends RunDeps {
  readonly client: StorageClient;
  /**
   * Stores the state before a step from which a crash could not be recovered otherwise.
   *
   * @throws when the write fails, or this process may no longer write to the site.
   */
  readonly persist: (state: MountState) => Promise<void>;
}

/** Result of a run for one mount. */
export interface Applied extends Ended {
  /** Calls that changed the site, in order. */
  readonly steps: readonly Step[];
}

/**
 * Updates one mount of a site to the desired state, or stops in a state from which the next round
 * continues. `nextStep` decides each call; each write follows a read of the same row by its id.
 * Without differences nothing is sent.
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
  const steps: Step[] = [];
  let run = beginRun(wanted, listed, before, remount);
  for (let count = 0; count < MAX_STEPS; count += 1) {
    const compared = compareRun(run, deps);
    const next = nextStep(situationOf(run, compared, deps));
    if (next.do === "end") {
      run = { ...run, error: next.error };
      break;
    }
    if (isCall(next.do)) steps.push(next.do);
    run = await perform(next.do, run, compared, deps);
  }
  return { ...endRun(run, deps), steps };
}

function isCall(action: Exclude<Next["do"], "end">): action is Step {
  return action !== "read" && action !== "confirm";
}

/**
 * Performs a decision of `nextStep`, which reads, updates and deletes existing rows only: the id 0 of an
 * absent row is never sent.
 *
 * @param compared undefined: there is no row, or its configuration can't be read.
 */
async function perform(
  action: Exclude<Next["do"], "end">,
  run: Run,
  compared: Compared | undefined,
  deps: ApplyDeps,
): Promise<Run> {
  if (action === "read") return afterRead(run, await deps.client.get(run.row?.id ?? 0));
  if (action === "confirm")
    return compared === undefined ? run : afterConfirmation(run, compared, deps);
  return performCall(action, run, compared, deps);
}

/** Makes a call that changes the site, and reads the row back. */
async function performCall(
  step: Step,
  begun: Run,
  compared: Compared | undefined,
  deps: ApplyDeps,
): Promise<Run> {
  const { client, now } = deps;
  const secrets = secretsOf(begun.wanted, begun.row, deps);
  let run = await stored(begun, stateBefore(begun, step, now()), deps);
  const update = step === "update" ? compared && planUpdate(run, compared, deps) : undefined;
  if (update !== undefined)
    run = { ...(await stored(run, update.before, deps)), changesItems: update.changesItems };
  try {
    await call(step, run, update, secrets, deps);
    if (update !== undefined) run = { ...run, state: update.after };
    if (update?.sendsCredential === true) await deps.persist(update.after);
    const row = await readBack(step, run, client);
    if (update !== undefined) run = afterUpdate(run, row, deps);
    run = afterCall(run, step, row, now());
  } catch (failure) {
    const failed = failedCall(failure, secrets);
    if (failed === undefined) throw failure;
    run = await stored(run, stateAfterFailure(run, step, failed, now()), deps);
    return afterFailure(run, step, failed, await readBack(step, run, client), now());
  }
  if (step === "enable" && run.changesItems && run.row?.status === "work")
    await refreshListing(client, run.row.mount_path);
  return run;
}

/** @param update the planned update; undefined for other steps. */
async function call(
  step: Step,
  { wanted, row }: Run,
  update: Update | undefined,
  secrets: readonly string[],
  { client, driverOf }: ApplyDeps,
): Promise<void> {
  if (step === "create") {
    if (wanted !== undefined) await client.create(newRow(wanted, driverOf(wanted.driver)), secrets);
  } else if (step === "update") {
    if (update !== undefined) await client.update(update.row, secrets);
  } else {
    await client.act(step, row?.id ?? 0, secrets);
  }
}

/** The run with another state, which is stored first; the run itself if the state is the same. */
async function stored(run: Run, state: MountState, { persist }: ApplyDeps): Promise<Run> {
  if (state === run.state) return run;
  await persist(state);
  return { ...run, state };
}

/** The row after a call: a created one by its path, others by their id. */
async function readBack(
  step: Step,
  { wanted, state }: Run,
  client: StorageClient,
): Promise<StorageRow | undefined> {
  if (step !== "create") return state.id === 0 ? undefined : client.get(state.id);
  const path = wanted?.path ?? state.path;
  return (await client.list()).find((row) => row.mount_path === path);
}

/**
 * A failure as the functions of a run take it.
 *
 * @returns undefined when the run can't continue: the site is not reached.
 */
function failedCall(failure: unknown, secrets: readonly string[]): FailedCall | undefined {
  if (!(failure instanceof SiteFailure)) return undefined;
  const refusal = refusalOf(failure);
  if (refusal === undefined && failure.kind !== "silent") return undefined;
  const { words } = failure;
  return {
    refusal,
    words,
    text: words === "" ? failure.text : plainMessage(words, secrets),
    isUncertain: isUncertain(failure),
  };
}

/** Lists a mount anew: servers keep cached listings when its root or account changes. */
async function refreshListing(client: StorageClient, path: string): Promise<void> {
  await client.refresh(path).catch((failure: unknown) => {
    // The mount exists; its probes check whether it can be listed.
    if (!(failure instanceof SiteFailure)) throw failure;
  });
}
