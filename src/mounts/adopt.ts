import { message } from "../messages/message.ts";
import type { Draft } from "../settings/draft.ts";
import type { MountInput } from "./input.ts";
import {
  deleteMount,
  isOnSite,
  type Mount,
  missingOn,
  readDraftMount,
  type Values,
  writeMount,
} from "./mount.ts";
import { type Result, resultAs } from "./save.ts";
import type { MountRound } from "./site/round.ts";
import { type MountState, NEW_MOUNT } from "./site/state.ts";
import type { FoundMount } from "./site/take.ts";
import type { WantedMount } from "./site/wanted.ts";

/** Reports whether an item of a driver is secret. */
export type IsSecret = (driver: string, item: string) => boolean;

/**
 * Converts a site's mount to an input. For a mount of several sites or with an override, differing
 * values become the site's override. The input is rejected when the mount has changed since.
 *
 * @param before the current mount; undefined: none.
 * @param isShared whether other sites have it.
 */
export function foundInput(
  found: FoundMount,
  site: string,
  before: Mount | undefined,
  isShared: boolean,
): MountInput {
  const { name, path, driver, items, members, disabled } = found;
  const values = { config: items, members, disabled };
  if (before === undefined)
    return { name, path, driver, ...values, sites: [site], expectedRevision: 0 };
  const expectedRevision = before.revision;
  if (!isShared && before.overrides[site] === undefined)
    return { name, path, ...values, expectedRevision };
  // A server fills absent items with empty values, which are not a difference.
  const isEmpty = (value: unknown): boolean => value === "" || value === 0 || value === false;
  const lost = new Set(missingOn(before, site));
  const differing = (values: Values, base: Values): Values =>
    Object.fromEntries(
      Object.entries(values).filter(
        ([item, value]) =>
          lost.has(item) ||
          (base[item] !== value && (Object.hasOwn(base, item) || !isEmpty(value))),
      ),
    );
  return {
    ...{ name, expectedRevision },
    overrides: {
      [site]: {
        path: path === before.path ? "" : path,
        config: differing(items, before.items),
        members: differing(members, before.members),
      },
    },
  };
}

/**
 * Applies a deletion on a site to a draft: removes the mount, or only its assignment to this site.
 */
export function leaveSite(
  draft: Draft,
  name: string,
  {
    site,
    siteNames,
    isSecret,
  }: {
    readonly site: string;
    readonly siteNames: readonly string[];
    readonly isSecret: IsSecret;
  },
): Result[] {
  const mount = readDraftMount(draft, name);
  if (mount === undefined) return [];
  const others = siteNames.filter((each) => each !== site && isOnSite(mount, each));
  if (others.length === 0) {
    deleteMount(draft, name);
    return [resultAs(name, "deleted", "")];
  }
  writeMount(draft, { ...mount, sites: others }, (item) => isSecret(mount.driver, item));
  return [resultAs(name, "changed", message("MOUNT_STAYS_ON", { sites: others.join(", ") }))];
}

/** Adopts content that users have edited on a site, if the mount's policy is `adopt`. */
export function takeContent(
  draft: Draft,
  {
    name,
    site,
    items,
    isSecret,
  }: {
    readonly name: string;
    readonly site: string;
    readonly items: Values;
    readonly isSecret: IsSecret;
  },
): void {
  const mount = readDraftMount(draft, name);
  if (mount === undefined || mount.content !== "adopt") return;
  const own = mount.overrides[site];
  const isOwn = ([item]: readonly [string, unknown]): boolean =>
    own !== undefined && Object.hasOwn(own.items, item);
  const all = Object.entries(items);
  const mine = Object.fromEntries(all.filter(isOwn));
  const common = Object.fromEntries(all.filter((entry) => !isOwn(entry)));
  const overrides =
    own === undefined
      ? mount.overrides
      : { ...mount.overrides, [site]: { ...own, items: { ...own.items, ...mine } } };
  writeMount(draft, { ...mount, items: { ...mount.items, ...common }, overrides }, (item) =>
    isSecret(mount.driver, item),
  );
}

/** Plan of a sync: steps to take, and mounts to leave unchanged. */
export function compareResults(
  round: MountRound,
  wanted: readonly WantedMount[],
  known: ReadonlyMap<string, MountState>,
): readonly Result[] {
  const byId = new Map(round.rows.map((row) => [row.id, row]));
  const names = new Set(wanted.map(({ name }) => name));
  const mine = wanted.map((mount): Result => {
    const state = round.states[mount.name] ?? known.get(mount.name) ?? NEW_MOUNT;
    const isThere = byId.has(state.id);
    const { differs, error } = state;
    if (mount.missing.length > 0) return resultAs(mount.name, "skipped", error);
    if (!isThere) return { name: mount.name, outcome: "created", note: error, differs: [] };
    const outcome = differs.length === 0 ? "unchanged" : "changed";
    return { name: mount.name, outcome, note: error, differs };
  });
  const gone = Object.entries(round.states).flatMap(([name, state]): Result[] =>
    names.has(name) || state === undefined || !byId.has(state.id)
      ? []
      : [resultAs(name, "deleted", "")],
  );
  const extra = round.extra.map(({ path }) => resultAs(path, "skipped", message("ONLY_AT_SITE")));
  return [...mine, ...gone, ...extra];
}
