import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import type { Amounts, AnyRules, Item } from "./kind.ts";

/** Bound of an amount over all records. */
export interface Limit {
  readonly name: string;
  readonly most: number;
  /** Message for a change that exceeds it. */
  exceeded(count: number, most: number): Message;
}

/** Totals after a record was replaced; undefined is a record that does not exist. */
export function replaceIn(
  totals: Amounts,
  rules: AnyRules,
  before: Item | undefined,
  after: Item | undefined,
): Amounts {
  const next: Record<string, number> = { ...totals };
  const add = (item: Item | undefined, sign: number): void => {
    if (item === undefined) return;
    const amounts = rules.amountsOf(item);
    for (const name in amounts) next[name] = (next[name] ?? 0) + sign * (amounts[name] ?? 0);
  };
  add(before, -1);
  add(after, 1);
  return next;
}

/**
 * Rejects a change that increases a total above its limit. A total that exceeds its limit already
 * may be reduced.
 *
 * @param share of the limits that the caller may fill. Default: all.
 * @throws RESOURCE_EXHAUSTED.
 */
export function checkTotals(
  before: Amounts,
  after: Amounts,
  limits: readonly Limit[],
  share = 1,
): void {
  const isBeyond = (name: string, most: number): boolean => {
    const count = after[name] ?? 0;
    return count > most && count > (before[name] ?? 0);
  };
  // Without the totals: the caller may not see all records.
  if (share < 1 && limits.some(({ name, most }) => isBeyond(name, most * share)))
    throw exhausted(message("SPACE_SHARE_EXHAUSTED", { percent: Math.round(share * 100) }));
  for (const { name, most, exceeded } of limits)
    if (isBeyond(name, most)) throw exhausted(exceeded(after[name] ?? 0, most));
}

function exhausted(text: Message): ServiceError {
  return new ServiceError(Code.ResourceExhausted, text);
}
