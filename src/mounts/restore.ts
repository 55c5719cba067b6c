import { type Grant, outsideLimits } from "../access/grant.ts";
import type { Restored } from "../history/kind.ts";
import type { Draft } from "../ledger/draft.ts";
import type { StoredChange } from "../ledger/store.ts";
import { failedPrecondition } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { findClash } from "../sites/path-index.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createTicks } from "../ticks.ts";
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

/** Result for one mount, before its effects are known. */
export type RestoredMount = Omit<Restored, "effects">;

/**
 * Restores mounts of a draft to their state before the given changes.
 *
 * @throws FAILED_PRECONDITION if another mount has the path of a restored one.
 */
export async function restoreMounts(
  draft: Draft,
  changes: readonly StoredChange[],
  rules: RestoreRules,
): Promise<readonly RestoredMount[]> {
  const ticks = createTicks();
  const results: RestoredMount[] = [];
  for (const change of changes) {
    if (ticks.isDue()) await ticks.next();
    results.push(restoreMount(draft, change, rules));
  }
  await checkPaths(draft, results, rules);
  return results;
}

function restoreMount(draft: Draft, change: StoredChange, rules: RestoreRules): RestoredMount {
  const { key: name, oldBody, newBody } = change;
  // Those that the history shows: others would confirm the guess of a caller who may not read them.
  const secrets = shownItems(change).map(placeOf);
  const { sites } = rules;
  const now = draft.get(MOUNTS, name);
  // Another caller has moved it after the history was read.
  if (now !== undefined && !isAllowed(rules.grant, now)) throw outsideLimits(rules.grant);
  const file = rules.managedBy(name);
  if (file !== undefined) return skipped(name, message("MANAGED_BY_FILE", { file }));
  if (oldBody === newBody) return skipped(name, secretsStay(secrets, sites));
  if (oldBody === null) {
    if (now === undefined) return resultOf(name, "unchanged");
    draft.delete(MOUNTS, name);
    return resultOf(name, "deleted");
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
    return skipped(name, message("ROLLBACK_REDIRECTS", { items: redirected.join(", ") }));
  const isChanged = draft.put(MOUNTS, mount);
  const lost = missingFields(mount, sites);
  const note =
    lost.length > 0
      ? message("MOUNT_SECRETS_LOST", { items: lost.join(", ") })
      : secretsStay(secrets, sites);
  const notRestored = [...new Set([...lost, ...missingFields({ missing: secrets }, sites)])];
  if (now === undefined) return resultOf(name, "created", { note, notRestored });
  const differs = changedNames(now, mount, sites);
  if (isChanged) return resultOf(name, "changed", { note, notRestored, differs });
  return notRestored.length > 0 ? skipped(name, note) : resultOf(name, "unchanged");
}

function resultOf(
  name: string,
  outcome: Restored["outcome"],
  { note = "", differs = [], notRestored = [] }: Partial<RestoredMount> = {},
): RestoredMount {
  return { name, outcome, note, differs, notRestored };
}

function skipped(name: string, note: Text): RestoredMount {
  return resultOf(name, "skipped", { note });
}

/** Note for secrets that have changed and keep their values. */
function secretsStay(secrets: readonly MissingItem[], sites: RestoreRules["sites"]): Text {
  const items = missingFields({ missing: secrets }, sites);
  return items.length === 0
    ? ""
    : message("MOUNT_SECRETS_STAY", { items: [...new Set(items)].join(", ") });
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

/**
 * Checks that no restored mount has the path of another mount on the same site.
 *
 * @throws FAILED_PRECONDITION that names both.
 */
async function checkPaths(
  draft: Draft,
  results: readonly RestoredMount[],
  { sites, grant }: RestoreRules,
): Promise<void> {
  const ticks = createTicks();
  const mounts = draftMounts(draft);
  for (const { name, outcome } of results) {
    if (outcome === "skipped") continue;
    if (ticks.isDue()) await ticks.next();
    const mount = mounts.get(name);
    const clash = mount && findClash(name, mount, mounts, sites.ids);
    if (clash === undefined) continue;
    const whose = isAllowed(grant, clash.other)
      ? message("THE_MOUNT", { name: clash.other.name })
      : message("ANOTHER_MOUNT");
    throw failedPrecondition(message("ROLLBACK_PATH_TAKEN", { name, whose }));
  }
}

function secretsOf(
  items: Mount["items"] | undefined,
  isSecret: (item: string) => boolean,
): Mount["items"] {
  return Object.fromEntries(Object.entries(items ?? {}).filter(([item]) => isSecret(item)));
}
