import type { DriverInfo } from "../../drivers/driver-info.ts";
import { defaultOf, type Scalar } from "../../drivers/item-value.ts";
import { withoutUnpairedSurrogates } from "../../json-surrogate.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import { hiddenMembers, itemKind } from "./item-kind.ts";

/** Mount in a server's list. Other members are sent back unchanged. */
export interface StorageRow {
  /** Greater than 0. */
  readonly id: number;
  readonly mount_path: string;
  readonly driver: string;
  /** The driver's items as JSON text, secrets in clear. */
  readonly addition: string;
  /** `work`, `disabled`, the error of the last mount, or empty: mounting, or interrupted. */
  readonly status: string;
  readonly disabled: boolean;
  readonly [member: string]: unknown;
}

/** Number that JavaScript would round, in its original text (`JSON.rawJSON`). */
interface RawNumber {
  readonly rawJSON: string;
}

/** Members of an addition. Numbers beyond 2^53 and unusual notations keep their text. */
export type Addition = Readonly<Record<string, unknown>>;

/** `JSON` with the source text of numbers (ES2026), which the types of ES2024 do not have. */
const SourceJson = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
};

/** Maximum number of values of an addition, on all levels; drivers have up to forty. */
const MAX_VALUES = 1_000;

/**
 * @returns the members of an addition; undefined when the text is not a JSON object, or has more
 *   than 1,000 values.
 */
export function readAddition(text: string): Addition | undefined {
  if (hasMoreValues(text, MAX_VALUES)) return undefined;
  try {
    const value = SourceJson.parse(
      text === "" ? "{}" : withoutUnpairedSurrogates(text),
      (_key, one, context) =>
        typeof one === "number" && context?.source !== undefined && String(one) !== context.source
          ? SourceJson.rawJSON(context.source)
          : one,
    );
    return value !== null && typeof value === "object" && !Array.isArray(value)
      ? (value as Addition)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Counts the values of a JSON text by the commas and brackets outside of its strings. */
function hasMoreValues(text: string, most: number): boolean {
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length && count <= most; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === UNIT.backslash) at += 1;
    else if (unit === UNIT.quote) isInString = !isInString;
    else if (!isInString && SEPARATORS.has(unit)) count += 1;
  }
  return count > most;
}

const UNIT = { backslash: 0x5c, quote: 0x22 } as const;
const SEPARATORS: ReadonlySet<number> = new Set([...",[{"].map((char) => char.charCodeAt(0)));

/** Value of a member for comparisons. An absent one has the server's zero value: empty text, 0 or false. */
export function plainValue(value: unknown, like: Scalar): unknown {
  if (value === undefined || value === null)
    return typeof like === "string" ? "" : typeof like === "number" ? 0 : false;
  if (typeof value === "object" && "rawJSON" in value) return Number(value.rawJSON);
  return value;
}

/** Maximum lengths of the texts by which a mount is identified. */
const MAX_PATH = 4_096;
const MAX_DRIVER = 255;

/** Reports whether a value is a row of a list of mounts. */
export function isStorageRow(value: unknown): value is StorageRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  return (
    Number.isSafeInteger(row["id"]) &&
    (row["id"] as number) > 0 &&
    typeof row["disabled"] === "boolean" &&
    ["mount_path", "driver", "addition", "status"].every((name) => typeof row[name] === "string") &&
    (row["mount_path"] as string).length <= MAX_PATH &&
    (row["driver"] as string).length <= MAX_DRIVER
  );
}

/** Desired mount on one site, with the site's overrides applied. */
export interface WantedMount {
  /** The name of the mount in Mooring. */
  readonly name: string;
  /** As `cleanPath` returns it. */
  readonly path: string;
  readonly driver: string;
  /**
   * Items of the driver in the JSON types of the catalogue. Absent items keep the site's values.
   */
  readonly items: Readonly<Record<string, Scalar>>;
  /** Members of the row, such as `order` and `remark`, without path, driver and `disabled`. */
  readonly members: Readonly<Record<string, Scalar>>;
  readonly disabled: boolean;
  /** Policy for content that users have edited on the site. */
  readonly content: "adopt" | "overwrite";
  /** Revision of the mount's last change. */
  readonly revision: number;
  /** Revision in which a user last set a learned item; 0: none. */
  readonly credentialRevision: number;
  /** Revisions of secrets that count as different until they were sent; absent: none. */
  readonly blind?: ReadonlyMap<string, number>;
  /** Items without their values. If there are any, the mount is not sent to the site. */
  readonly missing: readonly string[];
}

/**
 * Row for creating a mount: all items of the driver's form in its order, with the form's default
 * for absent items, which a server would fill with zero values. The row has no id and is always
 * enabled, because servers mount a disabled row nevertheless.
 */
export function newRow(
  mount: WantedMount,
  driver: DriverInfo | undefined,
): Omit<StorageRow, "id" | "status"> {
  const filled: Record<string, unknown> = {};
  for (const item of driver?.additional ?? []) {
    const value = ownValue(mount.items, item.name) ?? defaultOf(item);
    if (value !== undefined) setOwn(filled, item.name, value);
  }
  const common: Record<string, Scalar> = {};
  for (const item of driver?.common ?? []) {
    const value = defaultOf(item);
    if (value !== undefined) setOwn(common, item.name, value);
  }
  return {
    ...common,
    ...mount.members,
    mount_path: mount.path,
    driver: mount.driver,
    addition: JSON.stringify({ ...filled, ...hiddenMembers(mount.driver), ...mount.items }),
    disabled: false,
  };
}

/**
 * Row for an update: the current row of the site with the mount's values. It is disabled, so that
 * no driver runs between the update and the next mount.
 *
 * @param addition the addition of that row.
 * @param options.credential whether learned items are sent; otherwise the site's values stay.
 * @param options.keep items that keep the site's value.
 * @param options.drop texts of the site that are emptied.
 */
export function updatedRow(
  row: StorageRow,
  addition: Addition,
  mount: WantedMount,
  options: {
    readonly credential: boolean;
    readonly keep: ReadonlySet<string>;
    readonly drop: readonly string[];
  },
): StorageRow {
  const items = Object.entries(mount.items).filter(
    ([name]) =>
      !options.keep.has(name) && (options.credential || itemKind(mount.driver, name) !== "learned"),
  );
  const members = Object.entries(mount.members).filter(
    ([name]) => Object.hasOwn(row, name) && !options.keep.has(name),
  );
  // Read-only member, which the server does not use.
  const { mount_details: _details, ...rest } = row;
  return {
    ...rest,
    ...Object.fromEntries(members),
    id: row.id,
    driver: row.driver,
    status: row.status,
    mount_path: mount.path,
    addition: JSON.stringify({
      ...addition,
      ...Object.fromEntries(options.drop.map((name) => [name, ""])),
      ...Object.fromEntries(items),
    }),
    disabled: true,
  };
}
