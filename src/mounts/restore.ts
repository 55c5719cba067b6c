import type { StoredChange } from "../ledger/store.ts";
import { partOf, placeOf, type SecretPlace } from "../records/secret-place.ts";
import type { Mount } from "./mount.ts";
import { readBody } from "./stored.ts";

/**
 * The mount as it was before a change, with its current secrets. Those without a current value are
 * missing: the mount was deleted, or has another driver.
 *
 * @param body its open part before the change. @param now the current mount.
 */
export function restoredMount(
  { key: name, oldHashes }: Pick<StoredChange, "key" | "oldHashes">,
  body: string,
  now: Mount | undefined,
  isSecret: (driver: string, item: string) => boolean,
): Mount {
  const before: Mount = { ...readBody(body), name, revision: 0 };
  const source = now?.driver === before.driver ? now : undefined;
  const secretsOf = (items: Mount["items"] = {}): Mount["items"] =>
    Object.fromEntries(Object.entries(items).filter(([item]) => isSecret(before.driver, item)));
  return {
    ...before,
    items: { ...before.items, ...secretsOf(source?.items) },
    overrides: Object.fromEntries(
      Object.entries(before.overrides).map(([site, override]) => [
        site,
        {
          ...override,
          items: { ...override.items, ...secretsOf(source?.overrides[site]?.items) },
        },
      ]),
    ),
    credentialRevision: now?.credentialRevision ?? before.credentialRevision,
    ...(now?.blind !== undefined && { blind: now.blind }),
    missing: missingAfter(before, oldHashes, source),
  };
}

/** Secrets of the restored mount, including missing ones, without a value in the current mount. */
function missingAfter(
  before: Mount,
  oldHashes: StoredChange["oldHashes"],
  now: Mount | undefined,
): readonly SecretPlace[] {
  const had = Object.keys(oldHashes ?? {}).map(placeOf);
  const all = new Map([...before.missing, ...had].map((place) => [partOf(place), place]));
  return [...all.values()].filter(({ site, item }) => {
    const values = site === "" ? now?.items : now?.overrides[site]?.items;
    return !Object.hasOwn(values ?? {}, item);
  });
}
