import type { DriverInfo } from "../../drivers/driver-info.ts";
import { memoize } from "../../memoize.ts";
import { message, type Text } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { contentMarks } from "./compare.ts";
import { type RowValues, readMount } from "./read.ts";
import type { MountRound } from "./round.ts";
import { readAddition, type StorageRow, type WantedMount } from "./row.ts";
import { type MountState, NEW_MOUNT } from "./state.ts";

/** Mount of a site, for adoption. */
export interface FoundMount extends RowValues {
  /** Name of the mount in Mooring; the name of a new mount is derived from its path. */
  readonly name: string;
  readonly isNew: boolean;
  /** Row of the mount on the site. */
  readonly row: StorageRow;
}

/** Content of a site that Mooring lacks or has with other values. */
export interface Found {
  readonly mounts: readonly FoundMount[];
  /** Names of mounts that were deleted on the site. */
  readonly gone: readonly string[];
  /** Paths of mounts whose configuration can't be read, with the reason. */
  readonly refused: readonly { readonly path: string; readonly reason: Text }[];
}

/**
 * Finds what an adoption changes: mounts that Mooring does not have, those that differ, and those
 * that were deleted on the site.
 *
 * @param round result of a read of the site.
 * @param options.names only these mounts, or paths of new ones; empty: all.
 * @param options.known states of the site's mounts.
 */
export function findMounts(
  round: MountRound,
  options: {
    readonly names: readonly string[];
    readonly wanted: readonly WantedMount[];
    readonly known: ReadonlyMap<string, MountState>;
    readonly driverOf: (name: string) => DriverInfo | undefined;
    /** Names of existing mounts, including those of other sites. */
    readonly taken: readonly string[];
  },
): Found {
  const { wanted, known, driverOf } = options;
  const names = new Set(options.names);
  const isRequested = (...any: string[]): boolean =>
    names.size === 0 || any.some((one) => names.has(one));
  const byId = new Map(round.rows.map((row) => [row.id, row]));
  const taken = new Set(options.taken);
  const mounts: FoundMount[] = [];
  const refused: { path: string; reason: Text }[] = [];
  const gone: string[] = [];
  const add = (row: StorageRow, name: string, isNew: boolean): void => {
    const found = readMount(row, driverOf(row.driver));
    if (found === undefined)
      refused.push({ path: row.mount_path, reason: message("CONFIGURATION_NOT_JSON") });
    else mounts.push({ ...found, name, isNew, row });
  };
  for (const mount of wanted) {
    const state = ownValue(round.states, mount.name) ?? known.get(mount.name);
    const row = byId.get(state?.id ?? 0);
    if (!isRequested(mount.name, mount.path, row?.mount_path ?? "")) continue;
    if (row === undefined) {
      if (state !== undefined && state.applied > 0) gone.push(mount.name);
    } else if ((state?.differs.length ?? 0) > 0 || mount.missing.length > 0)
      add(row, mount.name, false);
  }
  for (const { id, path } of round.extra) {
    const row = byId.get(id);
    if (row !== undefined && isRequested(path)) add(row, freeName(path, taken), true);
  }
  return { mounts, gone, refused };
}

/**
 * Adopts the mounts of a site, as one revision.
 *
 * @param save stores the mounts, and returns the stored ones as desired mounts of the site.
 * @returns the states for `MountSync.request`.
 */
export async function adoptMountsOf(
  found: Found,
  options: {
    readonly known: ReadonlyMap<string, MountState>;
    readonly hash: Fingerprint;
    readonly save: (found: Found) => Promise<readonly WantedMount[]>;
  },
): Promise<Readonly<Record<string, MountState>>> {
  if (found.mounts.length === 0 && found.gone.length === 0) return {};
  const wanted = new Map((await options.save(found)).map((mount) => [mount.name, mount]));
  return Object.fromEntries(
    found.mounts.flatMap(({ name, row }) => {
      const mount = wanted.get(name);
      const before = options.known.get(name);
      return mount === undefined ? [] : [[name, adoptedState(mount, row, before, options.hash)]];
    }),
  );
}

/** State of an adopted mount: both sides are equal, including credentials. */
function adoptedState(
  mount: WantedMount,
  row: StorageRow,
  before: MountState | undefined,
  hash: Fingerprint,
): MountState {
  const addition = readAddition(row.addition) ?? {};
  return {
    ...(before ?? NEW_MOUNT),
    id: row.id,
    path: row.mount_path,
    driver: row.driver,
    phase: "",
    before: "",
    applied: mount.revision,
    tried: mount.revision,
    credential: mount.credentialRevision,
    sent: mount.revision,
    absent: false,
    content: contentMarks(mount, addition, hash),
    differs: [],
    error: "",
    failures: 0,
    nextTry: 0,
    rewritten: {},
    unexplained: {},
    unconfirmed: false,
  };
}

/** Next number to try, by base name. */
const nextCounts = memoize((_taken: Set<string>) => new Map<string, number>());

/** Derives a free name from a path, such as `films-4k` from `/films/4k`, or `电影` from `/电影`. */
export function freeName(path: string, taken: Set<string>): string {
  // Unicode normalization can make a text eighteen times as long.
  const plain = path
    .slice(0, 256)
    .normalize("NFKC")
    .replace(/\p{Script=Latin}/gu, (letter) => letter.normalize("NFD").replace(/\p{M}/gu, ""))
    .replace(/[^\p{L}\p{M}\p{N}._]+/gu, "-")
    .replace(/^[-._\p{M}]+|[-.]+$/gu, "");
  const base =
    [...plain]
      .slice(0, 48)
      .join("")
      .replace(/[-.]+$/, "") || "mount";
  let name = base;
  // Many paths may have one base: the search continues after the last number.
  let count = nextCounts(taken).get(base) ?? 2;
  for (; taken.has(name); count += 1) name = `${base}-${count}`;
  nextCounts(taken).set(base, count);
  taken.add(name);
  return name;
}
