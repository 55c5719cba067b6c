// Stored secrets of an existing site during an import: which stay, and which are replaced.
import { ownValue, setOwn } from "../../own-value.ts";
import { MASK } from "../../settings/value.ts";
import type { SiteInput } from "../input.ts";
import type { Site } from "../site.ts";
import { memberName, overrideSecret } from "./entry.ts";

interface KeepOptions {
  /** Whether the caller may learn if a secret differs; otherwise each counts as kept. */
  readonly isRoot: boolean;
  readonly isSecret: (key: string) => boolean;
  /** Whether the caller has given the access to another server, which is not kept. */
  readonly hasNewServer: boolean;
}

/**
 * Input that keeps the access to a site that has a token, and its secret values. The access is kept as
 * a whole: a token must not be sent to another address.
 *
 * @returns the names of the members that would have been replaced.
 */
export function withStoredSecrets(
  before: Site,
  { url, token, ca, pin, ...input }: SiteInput,
  { isRoot, isSecret, hasNewServer }: KeepOptions,
): { readonly input: SiteInput; readonly kept: readonly string[] } {
  const access = { url, token, ca, pin };
  const kept: string[] = [];
  const hasAccess = before.token !== "" && !hasNewServer;
  if (hasAccess)
    for (const name of ["url", "token", "ca", "pin"] as const) {
      const isHidden = name === "token" && !isRoot;
      const value = access[name];
      if (value !== undefined && (isHidden || value !== before[name])) kept.push(memberName(name));
    }
  const overrides: Record<string, string> = {};
  for (const [key, value] of Object.entries(input.overrides ?? {})) setOwn(overrides, key, value);
  for (const [key, now] of Object.entries(before.overrides)) {
    const value = ownValue(overrides, key);
    const isOther = value !== MASK && (!isRoot || value !== now);
    if (!isSecret(key) || now === "" || !isOther) continue;
    kept.push(overrideSecret(key));
    setOwn(overrides, key, MASK);
  }
  return { input: { ...input, ...(!hasAccess && access), overrides }, kept };
}

/** Secrets of a site that a change replaces or removes. @param sent as in `sentSecrets`. */
export function replacedSecrets(
  before: Site,
  after: Site,
  sent: readonly string[],
  isSecret: (key: string) => boolean,
): readonly string[] {
  const isToken = before.token !== "" && (sent.includes("token") || before.token !== after.token);
  const keys = Object.entries(before.overrides).flatMap(([key, value]) => {
    const isReplaced = sent.includes("overrides") || ownValue(after.overrides, key) !== value;
    return isSecret(key) && value !== "" && isReplaced ? [overrideSecret(key)] : [];
  });
  return [...(isToken ? ["token"] : []), ...keys];
}
