import type { Grant } from "../access/grant.ts";
import type { AuditOrigin } from "../audit/entry.ts";
import type { RevisionOrigin } from "../settings/store.ts";
import type { Site } from "../sites/site.ts";
import type { MountInput } from "./input.ts";
import type { Mount } from "./mount.ts";
import type { Result } from "./save.ts";
import type { MountRound } from "./site/round.ts";
import type { WantedMount } from "./site/wanted.ts";
import type { Status } from "./status.ts";

/** Result of a change. */
export interface Saved {
  /** The revision afterwards. */
  readonly revision: number;
  readonly results: readonly Result[];
}

export interface ChangeOptions {
  readonly dryRun?: boolean;
  readonly allowShared?: boolean;
}

/** The caller of a change: its rights, and what the history says of it. */
export interface Caller {
  readonly grant: Grant;
  readonly origin: RevisionOrigin;
}

/** Mounts that a file declares. */
export interface DeclaredMounts {
  /**
   * Saves mounts as one revision, whole: values that are not given go, but for those that sites refresh.
   * Clients can't change them from then on.
   *
   * @param by what declares them, for messages.
   * @param options.dryRun only checks the inputs.
   * @throws INVALID_ARGUMENT with every violation.
   */
  declare(
    inputs: readonly MountInput[],
    origin: RevisionOrigin,
    by: string,
    options?: { readonly dryRun?: boolean },
  ): Promise<void>;
}

/** The rules of mounts. Calls to sites are UNAVAILABLE or FAILED_PRECONDITION as those of settings. */
export interface MountService extends DeclaredMounts {
  revision(): number;
  /** By name, those that the caller may know. */
  list(grant: Grant): readonly Mount[];
  /** @throws NOT_FOUND; PERMISSION_DENIED. */
  get(name: string, grant: Grant): Mount;
  /** Status of a mount on each of its sites. */
  statuses(mount: Mount): readonly Status[];
  save(inputs: readonly MountInput[], caller: Caller, options?: ChangeOptions): Promise<Saved>;
  /**
   * Gives an item another value wherever mounts of the driver have the value that it has in one mount.
   *
   * @param at.site the site whose override has it; empty: the mount itself.
   * @throws as save; FAILED_PRECONDITION when the item has no value there.
   */
  replace(
    at: { readonly name: string; readonly item: string; readonly site: string },
    value: string,
    caller: Caller,
    options?: ChangeOptions,
  ): Promise<Saved>;
  copy(
    name: string,
    to: { readonly name: string; readonly path: string },
    caller: Caller,
    options?: ChangeOptions,
  ): Promise<Mount>;
  rename(name: string, newName: string, caller: Caller): Promise<Mount>;
  delete(names: readonly string[], caller: Caller): Promise<number>;
  /** Plan of a sync of a site. */
  compare(site: string): Promise<readonly Result[]>;
  sync(site: string, names: readonly string[]): Promise<readonly Status[]>;
  adopt(
    site: string,
    names: readonly string[],
    caller: Caller,
    options?: ChangeOptions,
  ): Promise<Saved>;
  /** Passes a change on a server's own pages to it, and takes what it did as this caller's change. */
  passing(site: Site, pass: () => Promise<void>, origin: RevisionOrigin): Promise<void>;
  /** Takes content that users have edited on a site. */
  takeContent(site: Site, take: MountRound["take"], origin: RevisionOrigin): Promise<void>;
  /** Brings mounts back to a revision. @throws NOT_FOUND; OUT_OF_RANGE; ABORTED. */
  rollback(
    revision: number,
    names: readonly string[],
    caller: Caller,
    options?: ChangeOptions,
  ): Promise<Saved>;
  import(
    document: unknown,
    sites: readonly string[],
    caller: Caller,
    options?: ChangeOptions,
  ): Promise<Saved>;
  /** @param reveals with secrets. */
  export(
    names: readonly string[],
    site: string,
    grant: Grant,
    reveals: boolean,
  ): { readonly storages: readonly Record<string, unknown>[] };
  /** All mounts, then each one that changes with its statuses. @throws UNAVAILABLE at the end. */
  watch(
    grant: Grant,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly mounts: readonly Mount[]; readonly removed: readonly string[] }>;
  /**
   * Gives mounts that name a site its next name as well, before the site has it.
   *
   * @throws FAILED_PRECONDITION for a mount that a file declares with the old name alone.
   */
  nameSite(from: string, to: string, origin: AuditOrigin): Promise<void>;
  /** Wakes streams: something was committed. */
  changed(): void;
  /** The mounts that a site is to have. */
  wantedOf(site: Site): readonly WantedMount[];
}
