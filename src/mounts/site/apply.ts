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

async function perform(
  action: Exclude<Next["do"], "end">,
  run: Run,
  compared: Compared | undefined,
  deps: ApplyDeps,
): Promise<Run> {
  if (action === "confirm")
    return compared === undefined ? run : afterConfirmation(run, compared, deps);
  if (action === "read") return afterRead(run, await deps.client.get(run.row?.id ?? 0));
  const { client, now } = deps;
  const secrets = secretsOf(run.wanted, run.row, deps);
  let done = await stored(run, stateBefore(run, action, now()), deps);
  const update = action === "update" ? compared && planUpdate(done, compared, deps) : undefined;
  if (update !== undefined)
    done = { ...(await stored(done, update.before, deps)), changesItems: update.changesItems };
  try {
    await call(action, done, update, secrets, deps);
    if (update !== undefined) done = { ...done, state: update.after };
    if (update?.sendsCredential === true) await deps.persist(update.after);
    const row = await readBack(action, done, client);
    if (update !== undefined) done = afterUpdate(done, row, deps);
    done = afterCall(done, action, row, now());
  } catch (failure) {
    const failed = failedCall(failure, secrets);
    if (failed === undefined) throw failure;
    done = await stored(done, stateAfterFailure(done, action, failed, now()), deps);
    return afterFailure(done, action, failed, await readBack(action, done, client), now());
  }
  if (action === "enable" && done.changesItems && done.row?.status === "work")
    await refreshListing(client, done.row.mount_path);
  return done;
}

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
  } else await client.act(step, row?.id ?? 0, secrets);
}

/** Stores the state of a run, if it is another one. */
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

/** @returns undefined when the run can't continue: the site is not reached. */
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

/** Servers cache listings across a change of root or account. */
async function refreshListing(client: StorageClient, path: string): Promise<void> {
  await client.refresh(path).catch((failure: unknown) => {
    // The mount exists; its probes check whether it can be listed.
    if (!(failure instanceof SiteFailure)) throw failure;
  });
}
