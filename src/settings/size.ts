import { Code } from "@connectrpc/connect";
import { ServiceError } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";
import { isPublic, type SettingItem } from "./item.ts";

/** Bounds of all settings together. */
export interface SettingLimits {
  /** Number of custom settings. */
  readonly custom: number;
  /** UTF-8 bytes of all settings: keys, values, and definitions of custom settings. */
  readonly bytes: number;
  /** Bytes of the settings that can be read without a token. */
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
function bytesOf(item: SettingItem | undefined): number {
  if (item === undefined) return 0;
  const { key, value, help, options, definition } = item;
  const own = Buffer.byteLength(key) + Buffer.byteLength(value);
  if (definition !== undefined) return own;
  return own + Buffer.byteLength(help) + Buffer.byteLength(options);
}

/** Totals after a setting was replaced; undefined is a setting that does not exist. */
export function replaceIn(
  { custom, bytes, publicBytes }: SettingTotals,
  before: SettingItem | undefined,
  after: SettingItem | undefined,
): SettingTotals {
  const [old, next] = [bytesOf(before), bytesOf(after)];
  return {
    custom: custom + Number(after?.origin === "custom") - Number(before?.origin === "custom"),
    bytes: bytes + next - old,
    publicBytes:
      publicBytes + (after && isPublic(after) ? next : 0) - (before && isPublic(before) ? old : 0),
  };
}

/**
 * Rejects a change that increases a total above its limit. A total that exceeds its limit already
 * may be reduced.
 *
 * @throws RESOURCE_EXHAUSTED.
 */
export function checkTotals(
  before: SettingTotals,
  after: SettingTotals,
  limits: SettingLimits,
): void {
  if (isBeyond("custom", before, after, limits))
    throw exhausted(
      message("TOO_MANY_CUSTOM_SETTINGS", { count: after.custom, most: limits.custom }),
    );
  if (isBeyond("bytes", before, after, limits))
    throw exhausted(message("SETTINGS_TOO_LARGE", { count: after.bytes, most: limits.bytes }));
  if (isBeyond("publicBytes", before, after, limits))
    throw exhausted(
      message("PUBLIC_SETTINGS_TOO_LARGE", { count: after.publicBytes, most: limits.publicBytes }),
    );
}

function isBeyond(
  name: keyof SettingTotals,
  before: SettingTotals,
  after: SettingTotals,
  limits: SettingLimits,
): boolean {
  return after[name] > limits[name] && after[name] > before[name];
}

function exhausted(text: Message): ServiceError {
  return new ServiceError(Code.ResourceExhausted, text);
}
