import { type Grant, outsideLimits } from "../access/grant.ts";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import type { StoredChange } from "../ledger/store.ts";
import { message, type Text } from "../messages/message.ts";
import { checkRestoredPaths } from "../sites/restored-path.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { mapInTicks } from "../ticks.ts";
import { draftMounts, MOUNTS } from "./kind.ts";
import { isAllowed, type MissingItem, type Mount, missingFields } from "./mount.ts";
import { changedNames } from "./save.ts";
import { placeOf, readBody, shownItems } from "./stored.ts";

export interface RestoreRules {
  readonly grant: Grant;
  readonly isSecret: (driver: string, item: string) => boolean;
  /** Secrets that would reach a destination that the caller may not choose for them. */
  readonly redirected: (before: Mount, mount: Mount) => readonly string[];
  /** Source that manages a mount, such as a file; undefined: clients may change it. */
  readonly managedBy: (name: string) => string | undefined;
  readonly sites: Pick<SiteNames, "nameOf" | "ids">;
}

/**
 * Restores mounts of a draft to their state before the given changes.
 *
 * @throws FAILED_PRECONDITION if another mount has the path of a restored one.
 */
export async function restoreMounts(
  draft: Draft,
  changes: readonly StoredChange[],
  rules: RestoreRules,
): Promise<readonly RecordResult[]> {
  const { grant, sites } = rules;
  const results = await mapInTicks(changes, (change) => restoreMount(draft, change, rules));
  await checkRestoredPaths(results, draftMounts(draft), sites.ids, (other) =>
    isAllowed(grant, other) ? message("THE_MOUNT", { name: other.name }) : message("ANOTHER_MOUNT"),
  );
  return results;
}

function restoreMount(draft: Draft, change: StoredChange, rules: RestoreRules): RecordResult {
  const { key: name, oldBody, newBody } = change;
  // Those that the history shows: others would confirm the guess of a caller who may not read them.
  const secrets = shownItems(change).map(placeOf);
  const { sites } = rules;
  const now = draft.get(MOUNTS, name);
  // Another caller has moved it after the history was read.
  if (now !== undefined && !isAllowed(rules.grant, now)) throw outsideLimits(rules.grant);
  const file = rules.managedBy(name);
  if (file !== undefined) return resultAs(name, "skipped", message("MANAGED_BY_FILE", { file }));
  if (oldBody === newBody) return resultAs(name, "skipped", secretsStay(secrets, sites));
  if (oldBody === null) {
    if (now === undefined) return resultAs(name, "unchanged");
    draft.delete(MOUNTS, name);
    return resultAs(name, "deleted");
  }
  const before: Mount = { ...readBody(oldBody), name, revision: 0 };
  const ofDriver = (item: string): boolean => rules.isSecret(before.driver, item);
  const mount = withCurrentSecrets(before, {
    now,
    oldHashes: change.oldHashes,
    isSecret: ofDriver,
  });
  const redirected = now === undefined ? [] : rules.redirected(now, mount);
  if (redirected.length > 0)
    return resultAs(
      name,
      "skipped",
      message("ROLLBACK_REDIRECTS", { items: redirected.join(", ") }),
    );
  const isChanged = draft.put(MOUNTS, mount);
  const lost = missingFields(mount, sites);
  const note =
    lost.length > 0
      ? message("MOUNT_SECRETS_LOST", { items: lost.join(", ") })
      : secretsStay(secrets, sites);
  const leftOut = [...new Set([...lost, ...missingFields({ missing: secrets }, sites)])];
  if (now === undefined) return resultAs(name, "created", note, { leftOut });
  const differs = changedNames(now, mount, sites);
  if (isChanged) return resultAs(name, "changed", note, { leftOut, differs });
  return leftOut.length > 0 ? resultAs(name, "skipped", note) : resultAs(name, "unchanged");
}

/** Note for secrets that have changed and keep their values. */
function secretsStay(secrets: readonly MissingItem[], sites: RestoreRules["sites"]): Text {
  const items = missingFields({ missing: secrets }, sites);
  return items.length === 0
    ? ""
    : message("SECRETS_STAY", { items: [...new Set(items)].join(", ") });
}

/**
 * The mount as it was, with its current secrets: the history has none. Those without a current
 * value are missing: the mount was deleted, or has another driver.
 */
function withCurrentSecrets(
  before: Mount,
  {
    now,
    oldHashes,
    isSecret,
  }: {
    readonly now: Mount | undefined;
    readonly oldHashes: StoredChange["oldHashes"];
    readonly isSecret: (item: string) => boolean;
  },
): Mount {
  const source = now?.driver === before.driver ? now : undefined;
  return {
    ...before,
    items: { ...before.items, ...secretsOf(source?.items, isSecret) },
    overrides: Object.fromEntries(
      Object.entries(before.overrides).map(([site, override]) => [
        site,
        {
          ...override,
          items: {
            ...override.items,
            ...secretsOf(source?.overrides[site]?.items, isSecret),
          },
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
): readonly MissingItem[] {
  const had = Object.keys(oldHashes ?? {}).map(placeOf);
  const all = new Map(
    [...before.missing, ...had].map((each) => [`${each.site}:${each.item}`, each]),
  );
  return [...all.values()].filter(({ site, item }) => {
    const values = site === "" ? now?.items : now?.overrides[site]?.items;
    return !Object.hasOwn(values ?? {}, item);
  });
}

function secretsOf(
  items: Mount["items"] | undefined,
  isSecret: (item: string) => boolean,
): Mount["items"] {
  return Object.fromEntries(Object.entries(items ?? {}).filter(([item]) => isSecret(item)));
}
