import type { Ledger } from "../ledger/ledger.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { SETTINGS } from "../settings/kind.ts";
import { checkKeys, type KnownKeys } from "./input.ts";
import type { SiteRegistry } from "./registry.ts";
import type { Site, SiteState } from "./site.ts";

export interface SiteKeysDeps {
  readonly registry: Pick<SiteRegistry, "state">;
  readonly ledger: Pick<Ledger, "snapshot">;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
}

/** Keys of settings that a site may be given: Mooring's and those of its server. */
export interface SiteKeys {
  isSecret(key: string): boolean;
  /** @returns the keys. @throws INVALID_ARGUMENT for unknown ones. */
  check(site: Site, keys: readonly string[]): readonly string[];
  /**
   * Keys and bounds by which the members of a site are checked.
   *
   * @param options.reveals - whether the caller may read secrets of the site. Default: true.
   */
  known(state: SiteState, options?: { readonly reveals?: boolean | undefined }): KnownKeys;
}

export function createSiteKeys(deps: SiteKeysDeps): SiteKeys {
  const { registry, ledger, definitionOf, maxValueBytes } = deps;
  const isSecret = (key: string): boolean => ledger.snapshot().get(SETTINGS, key)?.secret === true;
  const keysOf = ({ known }: SiteState): ReadonlySet<string> =>
    new Set([...Array.from(ledger.snapshot().of(SETTINGS).items(), ({ key }) => key), ...known]);
  return {
    isSecret,
    check: (site, keys) => {
      if (keys.length > 0) checkKeys(keys, keysOf(registry.state(site.id)));
      return keys;
    },
    known: (state, { reveals = true } = {}) => ({
      definitionOf,
      maxValueBytes,
      keys: keysOf(state),
      mayRedirect: (key) => reveals || !isSecret(key),
      mayRetrust: reveals,
    }),
  };
}
