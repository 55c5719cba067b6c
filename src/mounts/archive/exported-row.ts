// Rows of an exported document: those of a server with what Mooring has beyond.

import type { DriverInfo } from "../../drivers/driver-info.ts";
import { isObject } from "../../is-object.ts";
import { isOnSite, overridesByName, siteNamesOf } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import { createTicks } from "../../ticks.ts";
import type { MountInput, OverrideInput } from "../input.ts";
import { type Mount, type Values, wantedOn } from "../mount.ts";
import { VALUE_MEMBERS } from "../site/read.ts";
import { newRow, readAddition } from "../site/row.ts";

/** Member `mooring` of an exported row: values of the mount that servers do not have. */
export interface OwnMembers {
  readonly name: string | undefined;
  readonly content: Mount["content"] | undefined;
  /** As in `MountInput`. Undefined: not in the document. */
  readonly sites: MountInput["sites"];
  readonly overrides: Readonly<Record<string, OwnOverride>> | undefined;
  /** In a row, text with commas: items (`config.NAME`) and members of the row that have the form's default because they are absent. */
  readonly filled: readonly string[];
}

export interface OwnOverride extends OverrideInput {
  /** Items whose values are left out. */
  readonly missing: readonly string[];
}

export function ownOf(row: unknown): OwnMembers | undefined {
  const own = isObject(row) ? row["mooring"] : undefined;
  if (!isObject(own)) return undefined;
  const { name, content, sites, overrides, filled } = own;
  return {
    name: typeof name === "string" ? name : undefined,
    content: content === "adopt" || content === "overwrite" ? content : undefined,
    sites: sites === "all" ? "all" : Array.isArray(sites) ? namesOf(sites) : undefined,
    overrides: isObject(overrides)
      ? Object.fromEntries(
          Object.entries(overrides).map(([site, override]) => [site, ownOverride(override)]),
        )
      : undefined,
    filled: typeof filled === "string" ? filled.split(",") : [],
  };
}

function ownOverride(given: unknown): OwnOverride {
  const override = isObject(given) ? given : {};
  const object = (name: string): Record<string, unknown> => {
    const value = override[name];
    return isObject(value) ? value : {};
  };
  const path = override["mount_path"];
  return {
    path: typeof path === "string" ? path : "",
    config: object("config"),
    members: object("members"),
    missing: namesOf(override["missing"]),
  };
}

/** Texts of a list; other values are left out. */
export function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

/**
 * Creates rows in the servers' format, without `id`, `status` and `modified`, for import here and
 * on a server's backup page. `missing` lists items whose values are omitted. The member `mooring` has
 * what a row of a server lacks: the name, the sites, the overrides. Servers ignore both members.
 *
 * @param site id of the site whose rows are written, with its overrides applied; empty: the mounts
 *   themselves.
 * @param names of the sites, which the document has in place of their ids.
 * @param hides whether an item is left out.
 */
export async function writeDocument(
  mounts: readonly Mount[],
  site: string,
  names: Pick<SiteNames, "nameOf">,
  driverOf: (name: string) => DriverInfo | undefined,
  hides: (driver: string, item: string) => boolean,
): Promise<{ readonly storages: readonly Record<string, unknown>[] }> {
  const shown = (driver: string, items: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(items).filter(([item]) => !hides(driver, item)));
  const hidden = (driver: string, items: Values): string[] =>
    Object.entries(items).flatMap(([item, value]) =>
      value !== "" && hides(driver, item) ? [item] : [],
    );
  const ownOverrides = (mount: Mount) =>
    Object.fromEntries(
      overridesByName(mount, names).map(([name, { path, items, members }]) => {
        const { driver, missing } = mount;
        const lost = missing.flatMap((each) =>
          names.nameOf(each.site) === name ? [each.item] : [],
        );
        return [
          name,
          {
            ...(path !== "" && { mount_path: path }),
            config: shown(driver, items),
            members,
            missing: [...new Set([...hidden(driver, items), ...lost])],
          },
        ];
      }),
    );
  const rowOf = (mount: Mount): Record<string, unknown> => {
    const { name, driver, content } = mount;
    const wanted = wantedOn(mount, site);
    const form = driverOf(driver);
    const row: Readonly<Record<string, unknown>> = newRow(wanted, form);
    const addition = readAddition(String(row["addition"])) ?? {};
    const missing = [...new Set([...hidden(driver, wanted.items), ...wanted.missing])];
    const filled = [
      ...(form?.additional ?? [])
        .filter((item) => Object.hasOwn(addition, item.name))
        .filter((item) => !Object.hasOwn(wanted.items, item.name))
        .map((item) => `config.${item.name}`),
      ...(form?.common ?? [])
        .map((item) => item.name)
        .filter((item) => VALUE_MEMBERS.has(item) && Object.hasOwn(row, item))
        .filter((item) => !Object.hasOwn(wanted.members, item)),
    ];
    return {
      ...row,
      addition: JSON.stringify(shown(driver, addition)),
      disabled: mount.disabled,
      ...(missing.length > 0 && { missing }),
      mooring: {
        name,
        content,
        ...(site === "" && {
          sites: siteNamesOf(mount, names),
          overrides: ownOverrides(mount),
        }),
        filled: filled.join(","),
      },
    };
  };
  const ticks = createTicks();
  const storages: Record<string, unknown>[] = [];
  for (const mount of mounts) {
    if (ticks.isDue()) await ticks.next();
    if (site === "" || isOnSite(mount, site)) storages.push(rowOf(mount));
  }
  return { storages };
}
