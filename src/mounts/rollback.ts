import { failedPrecondition } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Draft } from "../settings/draft.ts";
import { readMountKey } from "../settings/mount-key.ts";
import { deleteMount, type Mount, readDraftMount, writeMount } from "./mount.ts";
import { changedNames, findClash, type Result, resultAs } from "./save.ts";

interface RollBackRules {
  readonly need: (mount: Mount | undefined, name: string) => Mount;
  readonly isSecret: (driver: string, item: string) => boolean;
}

/** Brings mounts of a draft back to what they were before some changes of the history. */
export function rollBack(
  draft: Draft,
  changes: readonly {
    readonly key: string;
    readonly oldValue: string | null;
    readonly newValue: string | null;
  }[],
  names: readonly string[],
  { need, isSecret }: RollBackRules,
): Result[] {
  const byName = Map.groupBy(changes, ({ key }) => readMountKey(key)?.name ?? "");
  const results: Result[] = [];
  for (const [name, all] of byName) {
    if (names.length > 0 && !names.includes(name)) continue;
    const now = readDraftMount(draft, name);
    if (now !== undefined) need(now, name);
    const whole = all.find(({ key }) => readMountKey(key)?.item === undefined);
    const secrets = all.flatMap(({ key }) => readMountKey(key)?.item ?? []);
    if (whole?.oldValue === null) {
      deleteMount(draft, name);
      results.push(resultAs(name, "deleted", ""));
      continue;
    }
    const lost =
      secrets.length === 0
        ? ""
        : message("MOUNT_SECRETS_STAY", { items: [...new Set(secrets)].join(", ") });
    if (whole === undefined) {
      results.push(resultAs(name, "skipped", lost));
      continue;
    }
    const stored = JSON.parse(whole.oldValue) as Omit<Mount, "name" | "revision">;
    const before: Mount = { ...stored, name, revision: 0 };
    need(before, name);
    const mount: Mount = {
      ...before,
      // The history has no secrets: those of now stay.
      items: { ...before.items, ...secretsOf(now?.items, (item) => isSecret(before.driver, item)) },
      overrides: Object.fromEntries(
        Object.entries(before.overrides).map(([site, override]) => [
          site,
          {
            ...override,
            items: {
              ...override.items,
              ...secretsOf(now?.overrides[site]?.items, (item) => isSecret(before.driver, item)),
            },
          },
        ]),
      ),
      credentialRevision: now?.credentialRevision ?? before.credentialRevision,
    };
    writeMount(draft, mount, (item) => isSecret(mount.driver, item));
    const note =
      now === undefined && secrets.length > 0
        ? message("MOUNT_SECRETS_LOST", { items: [...new Set(secrets)].join(", ") })
        : lost;
    results.push({
      ...{ name, outcome: now === undefined ? "created" : "changed", note },
      differs: now === undefined ? [] : changedNames(now, mount),
    });
  }
  return results;
}

/**
 * Checks that no mount that came back has the path of another one on the same site.
 *
 * @throws FAILED_PRECONDITION that names both.
 */
export function checkPaths(
  mounts: ReadonlyMap<string, Mount>,
  results: readonly Result[],
  siteNames: readonly string[],
): void {
  for (const { name } of results) {
    const mount = mounts.get(name);
    const clash = mount && findClash(mount, mounts, siteNames);
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
