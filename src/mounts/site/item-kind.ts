import { readFileSync } from "node:fs";
import { ownValue } from "../../own-value.ts";

/**
 * Owner of the value of a driver's item.
 * - `declared`: Mooring's value applies.
 * - `learned`: the server refreshes the value (tokens, cookies, one-time codes). It is pushed when a
 *   mount is created and when a user gives a new one, never compared, and adopted only on request.
 * - `content`: users edit it on the server.
 */
export type ItemKind = "declared" | "learned" | "content";

/** The file `src/data/write-back.json`. */
interface WriteBack {
  /** Kind of each item that a server writes back, by driver. */
  readonly drivers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly members: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Members of the row that a driver changes at a mount. */
  readonly rowMembers: Readonly<Record<string, readonly string[]>>;
}

const DATA_FILE = new URL("../../data/write-back.json", import.meta.url);
const { drivers, members, rowMembers }: WriteBack = JSON.parse(readFileSync(DATA_FILE, "utf8"));

/** Kind of an item, or of a member that is not in the form (`src/data/write-back.json`). */
export function itemKind(driver: string, item: string): ItemKind {
  switch (kindOf(driver, item)) {
    case undefined:
    case "obfuscated":
    case "rewritten":
      return "declared";
    case "content":
      return "content";
    default:
      return "learned";
  }
}

/** Reports whether a refresh invalidates the item: on several sites only the first refresh works. */
export function isCredential(driver: string, item: string): boolean {
  const kind = kindOf(driver, item);
  return kind === "token" || kind === "once";
}

/** Reports whether the driver stores another form of the item at each write of its clear text. */
export function isObfuscated(driver: string, item: string): boolean {
  return kindOf(driver, item) === "obfuscated";
}

/** Reports whether the driver fills in an empty value of the item. */
export function isFilledIn(driver: string, item: string): boolean {
  return kindOf(driver, item) === "rewritten";
}

const NO_MEMBERS: ReadonlySet<string> = new Set();
const changedMembers = new Map(
  Object.entries(rowMembers).map(([driver, names]) => [driver, new Set(names)]),
);

/** Members of the row that the driver changes at a mount. */
export function rowMembersOf(driver: string): ReadonlySet<string> {
  return changedMembers.get(driver) ?? NO_MEMBERS;
}

/** Members of a new mount that are not in the form: without them the driver resets other items. */
export function hiddenMembers(driver: string): Readonly<Record<string, number>> {
  return ownValue(members, driver) ?? {};
}

function kindOf(driver: string, item: string): string | undefined {
  return ownValue(ownValue(drivers, driver), item);
}

/**
 * Credentials of one mount that several sites would share: items that their driver refreshes and
 * whose value is the same on at least two sites.
 *
 * @param items the mount's items on each of its sites. @returns names of the items; empty: none
 *   is shared.
 */
export function sharedCredentials(
  driver: string,
  items: readonly Readonly<Record<string, unknown>>[],
): string[] {
  const names = new Set(items.flatMap((each) => Object.keys(each)));
  return [...names].filter((name) => {
    if (!isCredential(driver, name)) return false;
    const values = items
      .map((each) => ownValue(each, name))
      .filter((value) => value && value !== "");
    return new Set(values).size < values.length;
  });
}
