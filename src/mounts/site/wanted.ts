import type { DriverInfo } from "../../drivers/driver-info.ts";
import { defaultOf, type Scalar } from "../../drivers/item-value.ts";
import { hiddenMembers, itemKind } from "./item-kind.ts";
import type { Addition, StorageRow } from "./row.ts";

/** A mount as one site is to have it, with the site's overrides applied. */
export interface WantedMount {
  /** The name of the mount in Mooring. */
  readonly name: string;
  /** As `cleanPath` returns it. */
  readonly path: string;
  readonly driver: string;
  /** The driver's items in the JSON types of the catalogue. Items that are absent stay the site's. */
  readonly items: Readonly<Record<string, Scalar>>;
  /** Members of the row, such as `order` and `remark`, without path, driver and `disabled`. */
  readonly members: Readonly<Record<string, Scalar>>;
  readonly disabled: boolean;
  /** Policy for content that users have edited on the site. */
  readonly content: "adopt" | "overwrite";
  /** The revision that changed the mount last. */
  readonly revision: number;
  /** The revision in which a user last gave a learned item; 0: none. */
  readonly credentialRevision: number;
  /** Items whose values are lost. Unless empty, nothing is sent to the site. */
  readonly missing: readonly string[];
}

/**
 * The row that creates a mount: every item of the driver's form in the form's order, with the form's
 * default where the mount has none. A server fills absent items with zero values and not with defaults.
 * It has no id, and is always enabled: servers mount a disabled one all the same.
 */
export function newRow(
  mount: WantedMount,
  driver: DriverInfo | undefined,
): Omit<StorageRow, "id" | "status"> {
  const filled: Record<string, unknown> = {};
  for (const item of driver?.additional ?? []) {
    const value = mount.items[item.name] ?? defaultOf(item);
    if (value !== undefined) filled[item.name] = value;
  }
  const common: Record<string, Scalar> = {};
  for (const item of driver?.common ?? []) {
    const value = defaultOf(item);
    if (value !== undefined) common[item.name] = value;
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
 * The row of an update: the row that was read just before, whole, with the mount's values in it. It
 * says disabled, so that no driver lives between the update and the next mount.
 *
 * @param addition the addition of that row.
 * @param options.credential whether learned items are sent; else the site's own stay.
 * @param options.keep items whose value on the site stays.
 */
export function updatedRow(
  row: StorageRow,
  addition: Addition,
  mount: WantedMount,
  options: { readonly credential: boolean; readonly keep: ReadonlySet<string> },
): StorageRow {
  const items = Object.entries(mount.items).filter(
    ([name]) =>
      !options.keep.has(name) && (options.credential || itemKind(mount.driver, name) !== "learned"),
  );
  const members = Object.entries(mount.members).filter(
    ([name]) => Object.hasOwn(row, name) && !options.keep.has(name),
  );
  // Read only, and of no use to the server.
  const { mount_details: _details, ...rest } = row;
  return {
    ...rest,
    ...Object.fromEntries(members),
    id: row.id,
    driver: row.driver,
    status: row.status,
    mount_path: mount.path,
    addition: JSON.stringify({ ...addition, ...Object.fromEntries(items) }),
    disabled: true,
  };
}
