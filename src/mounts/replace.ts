import { failedPrecondition } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { MountInput } from "./input.ts";
import type { Mount } from "./mount.ts";

/**
 * Creates inputs that replace a value in all mounts of one driver.
 *
 * @param from location of the old value; `site` empty: the mount itself.
 * @throws FAILED_PRECONDITION when there is no value.
 */
export function replaceInputs(
  from: {
    readonly mount: Mount;
    readonly site: string;
    readonly item: string;
    readonly value: string;
  },
  mounts: readonly Mount[],
): MountInput[] {
  const { mount, site, item, value } = from;
  const old = (site === "" ? mount.items : mount.overrides[site]?.items)?.[item];
  if (old === undefined || old === "")
    throw failedPrecondition(message("NO_CREDENTIAL", { name: mount.name, item }));
  return mounts.flatMap((each): MountInput[] => {
    if (each.driver !== mount.driver) return [];
    const isOwn = each.items[item] === old;
    const overrides = Object.entries(each.overrides).filter(([, { items }]) => items[item] === old);
    if (!isOwn && overrides.length === 0) return [];
    return [
      {
        name: each.name,
        ...(isOwn && { config: { [item]: value } }),
        overrides: Object.fromEntries(
          overrides.map(([name, { path, items, members }]) => [
            name,
            { path, config: { ...items, [item]: value }, members },
          ]),
        ),
      },
    ];
  });
}
