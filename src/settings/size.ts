import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { isPublic, type SettingItem } from "./item.ts";

/** Bounds of all settings together. */
export interface SettingLimits {
  /** Settings that the program does not know. */
  readonly custom: number;
  /** UTF-8 bytes of all settings: keys and values, and what clients describe custom ones with. */
  readonly bytes: number;
  /** The same of settings that are read without a token. */
  readonly publicBytes: number;
}

/** Totals of all settings of a snapshot, in the members of {@link SettingLimits}. */
export type SettingTotals = SettingLimits;

export const NO_TOTALS: SettingTotals = { custom: 0, bytes: 0, publicBytes: 0 };

/** No bounds. */
export const NO_LIMITS: SettingLimits = {
  custom: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
  publicBytes: Number.POSITIVE_INFINITY,
};

/** UTF-8 bytes of a setting. The texts of known settings are the program's and do not count. */
function bytesOf({ key, value, help, options, definition }: SettingItem): number {
  const own = Buffer.byteLength(key) + Buffer.byteLength(value);
  if (definition !== undefined) return own;
  return own + Buffer.byteLength(help) + Buffer.byteLength(options);
}

/** The totals after a setting was replaced; undefined stands for one that is not there. */
export function replaceIn(
  totals: SettingTotals,
  before: SettingItem | undefined,
  after: SettingItem | undefined,
): SettingTotals {
  return countIn(countIn(totals, before, -1), after, 1);
}

function countIn(
  totals: SettingTotals,
  item: SettingItem | undefined,
  sign: 1 | -1,
): SettingTotals {
  if (item === undefined) return totals;
  const bytes = sign * bytesOf(item);
  return {
    custom: totals.custom + (item.origin === "custom" ? sign : 0),
    bytes: totals.bytes + bytes,
    publicBytes: totals.publicBytes + (isPublic(item) ? bytes : 0),
  };
}

/**
 * Refuses a change after which the settings are beyond a limit and further than before: a database that
 * is beyond it already can be reduced.
 *
 * @throws RESOURCE_EXHAUSTED.
 */
export function checkTotals(
  before: SettingTotals,
  after: SettingTotals,
  limits: SettingLimits,
): void {
  const isBeyond = (name: keyof SettingTotals): boolean =>
    after[name] > limits[name] && after[name] > before[name];
  if (isBeyond("custom"))
    throw exhausted(
      message("TOO_MANY_CUSTOM_SETTINGS", { count: after.custom, most: limits.custom }),
    );
  if (isBeyond("bytes"))
    throw exhausted(message("SETTINGS_TOO_LARGE", { count: after.bytes, most: limits.bytes }));
  if (isBeyond("publicBytes"))
    throw exhausted(
      message("PUBLIC_SETTINGS_TOO_LARGE", { count: after.publicBytes, most: limits.publicBytes }),
    );
}

function exhausted(text: Message): ServiceError {
  return new ServiceError(Code.ResourceExhausted, text);
}
