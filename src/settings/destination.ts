import type { Draft } from "../ledger/draft.ts";
import type { SettingItem } from "./item.ts";
import { SETTINGS } from "./kind.ts";

/** Rule of changes by callers who may not read all secrets. */
export interface RedirectRules {
  /** Reports whether the caller may not read the value of a secret. Default: none. */
  readonly hides?: ((item: SettingItem) => boolean) | undefined;
  /** Keys of the secrets that the caller sends: it knows them. */
  readonly given?: ReadonlySet<string>;
}

/**
 * Secrets that servers would send to another place after a change of a setting, such as the
 * password of `ldap_manager_dn` to another `ldap_server`, and that the caller neither sent nor may
 * read: it could name a server of its own.
 */
export function redirectedSecrets(
  draft: Pick<Draft, "get">,
  key: string,
  { hides = () => false, given = new Set() }: RedirectRules,
): readonly string[] {
  const secrets = draft.get(SETTINGS, key)?.definition?.destinationOf ?? [];
  return secrets.filter((name) => {
    const secret = draft.get(SETTINGS, name);
    return secret !== undefined && secret.value !== "" && !given.has(name) && hides(secret);
  });
}
