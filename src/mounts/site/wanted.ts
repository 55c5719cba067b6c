import type { DriverInfo } from "../../drivers/driver-info.ts";
import { defaultOf, type Scalar } from "../../drivers/item-value.ts";
import { hiddenMembers, itemKind } from "./item-kind.ts";
import type { Addition, StorageRow } from "./row.ts";

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
 * Row for an update: the current row of the site with the mount's values. It is disabled, so that
 * no driver runs between the update and the next mount.
 *
 * @param addition the addition of that row.
 * @param options.credential whether learned items are sent; otherwise the site's values stay.
 *   @param options.keep items that keep the site's value.
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
  // Read-only member, which the server does not use.
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
