// Stored secrets of an existing mount during an import: they stay, with the values they belong to.
import type { DriverInfo } from "../../drivers/driver-info.ts";
import { ownValue } from "../../own-value.ts";
import { MASK } from "../../settings/value.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { MountInput, ValueInput } from "../input.ts";
import type { Mount, Values } from "../mount.ts";
import { isSecretItem } from "../secret-item.ts";
import { secretName } from "./entry.ts";

interface KeepOptions {
  /** Form of the mount's driver. */
  readonly form: DriverInfo | undefined;
  readonly names: Pick<SiteNames, "nameOf" | "idOf">;
  /** Whether the caller may learn if a secret differs; otherwise each that is sent counts as kept. */
  readonly reveals: boolean;
}

/**
 * Input that keeps all items of a mount, on its sites too, if it would replace or remove a secret. They
 * are kept as a whole: a stored secret must not be sent to another address.
 *
 * @returns the input itself if it replaces no secret; else `kept` names the items that differ.
 */
export function withStoredSecrets(
  before: Mount,
  input: MountInput,
  { form, names, reveals }: KeepOptions,
): MountInput {
  const differing = (stored: Values, given: ValueInput, site: string): readonly Difference[] =>
    [...new Set([...Object.keys(stored), ...Object.keys(given)])].flatMap((item) => {
      const [now, value] = [ownValue(stored, item) ?? "", ownValue(given, item) ?? ""];
      const isStored = now !== "" && isSecretItem(form, item);
      const isSame = value === MASK || (value === now && (reveals || !isStored));
      return isSame ? [] : [{ name: secretName(item, site), isStored }];
    });
  const { config = {}, overrides = {} } = input;
  const differences = [
    ...differing(before.items, { ...unsent(before.items), ...config }, ""),
    ...Object.entries(overrides).flatMap(([site, own]) =>
      differing(before.overrides[names.idOf(site) ?? ""]?.items ?? {}, own.config, site),
    ),
  ];
  if (!differences.some(({ isStored }) => isStored)) return input;
  const stays = Object.entries(overrides).map(([site, own]) => {
    const stored = before.overrides[names.idOf(site) ?? ""]?.items ?? {};
    return [site, { ...own, config: unsent(stored) }] as const;
  });
  return {
    ...input,
    config: undefined,
    overrides: Object.fromEntries(stays),
    lost: [],
    kept: differences.map(({ name }) => name),
  };
}

/** Item of an input with another value than the mount. */
interface Difference {
  /** As in an archive. */
  readonly name: string;
  /** Whether it is a stored secret. */
  readonly isStored: boolean;
}

/** Values that stay as they are. */
function unsent(values: Values): ValueInput {
  return Object.fromEntries(Object.keys(values).map((item) => [item, MASK]));
}
