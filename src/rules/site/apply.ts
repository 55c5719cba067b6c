import { message } from "../../messages/message.ts";
import { plainMessage, SiteFailure } from "../../sync/failure.ts";
import type { WantedRule } from "../rule.ts";
import { type RuleClient, refusalOf } from "./client.ts";
import { compareRule } from "./compare.ts";
import { deleteRow, type RuleAbove } from "./deletion.ts";
import type { RuleJob, RulePlan } from "./plan.ts";
import { bodyOf, hasUsers, NO_USERS, namesUsers, type RuleRow, type SiteUsers } from "./row.ts";
import { FREE, hindered, type RuleState } from "./state.ts";

export interface ApplyDeps {
  readonly client: RuleClient;
  readonly users: SiteUsers | undefined;
  readonly now: () => number;
  /** Rules above the folder of a deleted one. */
  readonly above: RuleAbove;
  /**
   * Stores the state before a call.
   *
   * @throws when the write fails, or this process may no longer write to the site.
   */
  readonly persist: (state: RuleState) => Promise<void>;
}

export type RuleStep = "create" | "update" | "delete";

/** A planned call. */
export type RuleCall = Extract<RulePlan, { readonly do: RuleStep }>;

/** Result of the call for one rule. */
export interface AppliedRule {
  /** Undefined: the state is removed. */
  readonly state: RuleState | undefined;
  /** Whether the call was made. */
  readonly isDone: boolean;
}

/**
 * Makes the call of a plan. A created rule is confirmed by `confirmCreated`, from the next list.
 *
 * @throws SiteFailure when the site can't be reached; what `persist` throws.
 */
export async function applyRule(
  { do: step, state }: RuleCall,
  { wanted, row }: Pick<RuleJob, "wanted" | "row">,
  deps: ApplyDeps,
): Promise<AppliedRule> {
  const { client, persist } = deps;
  await persist(step === "delete" ? state : { ...state, cached: true });
  const secrets = secretsOf(wanted, row);
  try {
    if (step === "delete") return await applyDeletion(state, row, deps);
    if (wanted === undefined) return { state, isDone: false };
    const users = deps.users ?? NO_USERS;
    if (step === "create") {
      await client.create(bodyOf(wanted, users), secrets);
      return { state: { ...state, cached: true, sent: wanted.revision }, isDone: true };
    }
    // The row as it is now: members that Mooring does not know are kept.
    const fresh = await client.get(state.id);
    if (fresh?.path !== row?.path || fresh === undefined) return { state, isDone: false };
    await client.update(fresh.id, bodyOf(wanted, users, fresh), secrets);
    await clearCache(wanted, fresh, deps);
    const after = await client.get(fresh.id);
    return { state: confirmed(state, wanted, after, deps), isDone: true };
  } catch (failure) {
    if (refusalOf(failure) === undefined || !(failure instanceof SiteFailure)) throw failure;
    const text = plainMessage(failure.words, secrets) || failure.text;
    const refused = { ...state, creating: false, cached: true };
    return {
      state: hindered(refused, "call", text, { time: deps.now(), isTried: true }),
      isDone: true,
    };
  }
}

/**
 * Sends a rule once more after it was stored. OpenList clears its cache of a rule before it stores the
 * rule (`CreateMeta` and `UpdateMeta` of its internal/op/meta.go): a visitor who asks in between gets
 * the former rule, or none, until the next update.
 */
async function clearCache(
  wanted: WantedRule,
  row: RuleRow,
  { client, users }: Pick<ApplyDeps, "client" | "users">,
): Promise<void> {
  await client.update(row.id, bodyOf(wanted, users ?? NO_USERS, row), secretsOf(wanted, row));
}

/** Deletes a row that is still at its path: by now it may be the rule of another folder. */
async function applyDeletion(
  state: RuleState,
  row: RuleRow | undefined,
  { client, above }: Pick<ApplyDeps, "client" | "above">,
): Promise<AppliedRule> {
  const fresh = await client.get(state.id);
  if (fresh === undefined || fresh.path !== row?.path) return { state: undefined, isDone: false };
  await deleteRow(fresh, above(fresh.path), client);
  return { state: undefined, isDone: true };
}

/**
 * State of a created rule, from a list after the creation. A server that does not keep the lists of
 * users loses the rule again: without them it is not the rule that is desired.
 */
export async function confirmCreated(
  state: RuleState,
  wanted: WantedRule,
  row: RuleRow | undefined,
  deps: Pick<ApplyDeps, "client" | "users" | "now">,
): Promise<RuleState> {
  if (row !== undefined && namesUsers(wanted.values) && !hasUsers(row)) {
    await deps.client.delete(row.id);
    const without = { ...state, id: 0, creating: false, applied: 0, absent: true };
    const text = message("RULE_USERS_UNSUPPORTED");
    return hindered(without, "unsupported", text, { time: deps.now(), isTried: false });
  }
  if (row !== undefined) await clearCache(wanted, row, deps);
  return confirmed(state, wanted, row, deps);
}

/** State after a call whose result was read. */
function confirmed(
  state: RuleState,
  wanted: WantedRule,
  row: RuleRow | undefined,
  { users, now }: Pick<ApplyDeps, "users" | "now">,
): RuleState {
  if (row === undefined) return { ...state, absent: true };
  const { revision } = wanted;
  const differs = compareRule(wanted, row, {
    users: users ?? NO_USERS,
    sent: revision,
  });
  const found = {
    ...state,
    id: row.id,
    path: row.path,
    creating: false,
    cached: false,
    absent: false,
    sent: revision,
    differs,
  };
  if (differs.length === 0) return { ...found, ...FREE, applied: revision };
  // Mooring manages the row although it differs.
  const kept = { ...found, applied: Math.max(1, state.applied) };
  const text = message("RULE_NOT_KEPT", { members: differs.join(", ") });
  return hindered(kept, "call", text, { time: now(), isTried: true });
}

/** Texts that must not appear in messages: servers may quote them. */
function secretsOf(wanted: WantedRule | undefined, row: RuleRow | undefined): string[] {
  const texts = [wanted?.values.password, row?.["password"]];
  return texts.filter((text) => typeof text === "string" && text !== "") as string[];
}
