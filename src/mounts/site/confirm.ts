import type { Scalar } from "../../drivers/item-value.ts";
import { ownValue } from "../../own-value.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { isMarked, markOf, valueThere } from "./compare.ts";
import { itemKind } from "./item-kind.ts";
import { originOf, type Unexpected } from "./own-form.ts";
import type { StorageRow, WantedMount } from "./row.ts";
import { type Compared, compareRun, type Run, type RunDeps } from "./run.ts";
import type { Rewritten } from "./state.ts";

/**
 * The run after the driver has normalised the sent values. Its own forms count as equal. What another
 * client has changed in the meantime stays a difference for the next round, which corrects or adopts
 * it like any other change on the site.
 */
export function afterConfirmation(run: Run, compared: Compared, { hash }: RunDeps): Run {
  const { wanted, state, hasCreated } = run;
  if (wanted === undefined) return run;
  const rewritten: Record<string, Rewritten> = { ...state.rewritten };
  const unexplained: Record<string, Rewritten> = {};
  const content: Record<string, Rewritten> = { ...state.content };
  const left = new Set(run.left);
  for (const name of compared.difference.push) {
    // AList sets this member in each create, and accepts its value in an update.
    if (left.has(name) || (hasCreated && name === "down_proxy_sign")) continue;
    const value = unexpectedValue(name, wanted, compared, run, hash);
    const mark = markOf(value.sent, value.got, hash);
    const origin = originOf(value);
    if (origin === "driver") rewritten[name] = mark;
    else left.add(name);
    if (origin === "unknown") unexplained[name] = mark;
    // Mooring's value was there: another one is an edit, for adoption.
    if (origin === "client" && itemKind(wanted.driver, name) === "content")
      content[name] = markOf(value.sent, value.sent, hash);
  }
  return {
    ...run,
    hasPushed: false,
    hasCreated: false,
    left,
    isDrifted: run.isDrifted || hasCorrected(run, wanted, compared, hash),
    state: { ...state, rewritten, unexplained, content, unconfirmed: false },
  };
}

/**
 * The run after an update, which servers store as it is. Another value in the row is a change by
 * another client, and so is a mount that is enabled again.
 */
export function afterUpdate(run: Run, row: StorageRow | undefined, deps: RunDeps): Run {
  if (row === undefined) return run;
  const push = compareRun({ ...run, row }, deps)?.difference.push ?? [];
  const isAsSent = row.disabled && push.every((name) => run.left.has(name));
  return { ...run, savedAt: savedAt(row), isDrifted: run.isDrifted || !isAsSent };
}

function unexpectedValue(
  name: string,
  wanted: WantedMount,
  { row, addition }: Compared,
  { state, savedAt: own }: Run,
  hash: Fingerprint,
): Unexpected {
  const isMember = name === "mount_path" || Object.hasOwn(wanted.members, name);
  const sent = sentValue(name, wanted);
  const got = valueThere(name, sent, wanted, row, addition);
  const mark = ownValue(state.unexplained, name);
  const isSameSent = mark !== undefined && hash.isOf(mark.sent, JSON.stringify(sent)) === true;
  const before = !isSameSent ? "none" : isMarked(mark, sent, got, hash) ? "same" : "other";
  const isSaved = own === undefined ? undefined : savedAt(row) !== own;
  return { driver: wanted.driver, name, isMember, sent, got, isSaved, before };
}

function sentValue(name: string, { path, members, items }: WantedMount): Scalar {
  return name === "mount_path" ? path : (ownValue(members, name) ?? ownValue(items, name) ?? "");
}

/** Reports whether a push has corrected a value that the push before it could not explain. */
function hasCorrected(
  { state }: Run,
  wanted: WantedMount,
  { difference }: Compared,
  hash: Fingerprint,
): boolean {
  return Object.entries(state.unexplained).some(
    ([name, mark]) =>
      !difference.push.includes(name) &&
      hash.isOf(mark.sent, JSON.stringify(sentValue(name, wanted))) === true,
  );
}

/** Time of the last save by a client; drivers store tokens without changing it. Undefined: unknown. */
function savedAt({ modified }: StorageRow): number | undefined {
  const time = typeof modified === "string" ? Date.parse(modified) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
