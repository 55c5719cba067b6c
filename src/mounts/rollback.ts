import type { Draft } from "../ledger/draft.ts";
import { failedPrecondition } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { readMountKey } from "../settings/mount-key.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createTicks } from "../ticks.ts";
import {
  deleteMount,
  type MissingItem,
  type Mount,
  type MountIndex,
  missingFields,
  readDraftMount,
  readStored,
  writeMount,
} from "./mount.ts";
import { changedNames, findClash, type Result, resultAs } from "./save.ts";

interface RollBackRules {
  readonly need: (mount: Mount | undefined, name: string) => Mount;
  readonly isSecret: (driver: string, item: string) => boolean;
  /** Secrets that would reach a destination that the caller may not choose for them. */
  readonly redirected: (before: Mount, mount: Mount) => readonly string[];
  readonly sites: Pick<SiteNames, "nameOf">;
}

/** Restores mounts of a draft to their state before the given changes. */
export async function rollBack(
  draft: Draft,
  changes: readonly {
    readonly key: string;
    readonly oldBody: string | null;
    readonly newBody: string | null;
    readonly oldHash: string | null;
  }[],
  names: readonly string[],
  { need, isSecret, redirected, sites }: RollBackRules,
): Promise<Result[]> {
  const ticks = createTicks();
  const asked = new Set(names);
  const byName = Map.groupBy(changes, ({ key }) => readMountKey(key)?.name ?? "");
  const results: Result[] = [];
  for (const [name, all] of byName) {
    if (ticks.isDue()) await ticks.next();
    if (asked.size > 0 && !asked.has(name)) continue;
    const now = readDraftMount(draft, name);
    if (now !== undefined) need(now, name);
    const whole = all.find(({ key }) => readMountKey(key)?.item === undefined);
    const secrets = all.flatMap(({ key }) => readMountKey(key)?.item ?? []);
    if (whole?.oldBody === null) {
      deleteMount(draft, name);
      results.push(resultAs(name, "deleted", ""));
      continue;
    }
    const kept =
      secrets.length === 0
        ? ""
        : message("MOUNT_SECRETS_STAY", { items: [...new Set(secrets)].join(", ") });
    if (whole === undefined) {
      results.push(resultAs(name, "skipped", kept));
      continue;
    }
    const before: Mount = { ...readStored(whole.oldBody), name, revision: 0 };
    need(before, name);
    // The history has no secrets: the current ones are kept, unless the driver differs.
    const source = now?.driver === before.driver ? now : undefined;
    const ofDriver = (item: string): boolean => isSecret(before.driver, item);
    const mount: Mount = {
      ...before,
      items: { ...before.items, ...secretsOf(source?.items, ofDriver) },
      overrides: Object.fromEntries(
        Object.entries(before.overrides).map(([site, override]) => [
          site,
          {
            ...override,
            items: {
              ...override.items,
              ...secretsOf(source?.overrides[site]?.items, ofDriver),
            },
          },
        ]),
      ),
      credentialRevision: now?.credentialRevision ?? before.credentialRevision,
      ...(now?.blind !== undefined && { blind: now.blind }),
      missing: missingAfter(before, all, source),
    };
    const items = now === undefined ? [] : redirected(now, mount);
    if (items.length > 0) {
      results.push(
        resultAs(name, "skipped", message("ROLLBACK_REDIRECTS", { items: items.join(", ") })),
      );
      continue;
    }
    writeMount(draft, mount, ofDriver);
    const note =
      mount.missing.length > 0
        ? message("MOUNT_SECRETS_LOST", { items: missingFields(mount, sites).join(", ") })
        : kept;
    results.push({
      name,
      outcome: now === undefined ? "created" : "changed",
      note,
      differs: now === undefined ? [] : changedNames(now, mount, sites),
    });
  }
  return results;
}

/** Secrets of the restored mount, including missing ones, without a value in the current mount. */
function missingAfter(
  before: Mount,
  changes: readonly { readonly key: string; readonly oldHash: string | null }[],
  now: Mount | undefined,
): readonly MissingItem[] {
  const had = changes.flatMap(({ key, oldHash }): MissingItem[] => {
    const { item, site = "" } = readMountKey(key) ?? {};
    return item === undefined || oldHash === null ? [] : [{ site, item }];
  });
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
export async function checkPaths(
  mounts: MountIndex,
  results: readonly Result[],
  siteIds: readonly string[],
): Promise<void> {
  const ticks = createTicks();
  for (const { name } of results) {
    if (ticks.isDue()) await ticks.next();
    const mount = mounts.get(name);
    const clash = mount && findClash(mount, mounts, siteIds);
    if (clash !== undefined)
      throw failedPrecondition(message("ROLLBACK_PATH_TAKEN", { name, other: clash.other.name }));
  }
}

function secretsOf(
  items: Mount["items"] | undefined,
  isSecret: (item: string) => boolean,
): Mount["items"] {
  return Object.fromEntries(Object.entries(items ?? {}).filter(([item]) => isSecret(item)));
}
