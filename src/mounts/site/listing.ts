import { createHash } from "node:crypto";
import type { DriverInfo } from "../../drivers/driver-info.ts";
import { memoize } from "../../memoize.ts";
import { message, type Text } from "../../messages/message.ts";
import type { Site } from "../../sites/site.ts";
import { createSiteClient, type SiteClient } from "../../sync/client.ts";
import { SiteFailure } from "../../sync/failure.ts";
import { secretsOf } from "./plain.ts";
import type { StorageRow } from "./row.ts";

/** Time limit of a listing with all its calls, in milliseconds: servers try a hanging provider four times, 30 s each. */
const LIMIT = 130_000;
/** Maximum number of concurrent listings, over all sites. */
const MAX_RUNNING = 4;
/** Maximum number of waiting listings, over all sites: those of four full requests. */
const MAX_WAITING = 2_000;
/** Maximum number of entries that are read of a folder. */
const MAX_ENTRIES = 100;
/** Maximum number of characters of a name. */
const MAX_NAME = 255;

/** Entry of a folder. */
export interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Result of a listing. */
export type Listed =
  | { readonly outcome: "works"; readonly entries: readonly Entry[]; readonly total: number }
  /** First line of the server's message, without secrets. */
  | { readonly outcome: "fails"; readonly error: string }
  /** The site itself did not answer, or the answer does not show whether the mount works. */
  | { readonly outcome: "unknown"; readonly reason: Text };

/** Listings of mounts at their providers, a few at a time and one per account. */
export interface Lister {
  /** Reports whether a listing of the mount would begin at once. */
  isFree(site: Site, row: StorageRow): boolean;
  /**
   * Lists a mount with a refresh, after other listings of the same account.
   *
   * @param others paths of the site's other mounts.
   * @param mayBegin called before the listing begins; if it returns false, the result is `undefined`.
   * @param signal ends the wait.
   * @returns `unknown` at once if too many listings wait.
   */
  list(
    site: Site,
    row: StorageRow,
    others: readonly string[],
    mayBegin?: () => boolean,
    signal?: AbortSignal,
  ): Promise<Listed | undefined>;
  /** Account of a mount at its provider: mounts with equal secrets share one. */
  accountOf(site: Site, row: StorageRow): string;
  close(): void;
}

export interface ListerDeps {
  readonly driverOf: (name: string) => DriverInfo | undefined;
  /** Default: a connection of its own, so that a listing that hangs delays no other call. */
  readonly clientOf?: (site: Site) => Pick<SiteClient, "call">;
}

export function createLister({ driverOf, clientOf }: ListerDeps): Lister {
  const clients = new Map<string, { readonly site: Site; readonly client: SiteClient }>();
  const ownClientOf = (site: Site): SiteClient => {
    const known = clients.get(site.id);
    if (known?.site === site) return known.client;
    known?.client.close();
    const client = createSiteClient(site, MAX_RUNNING, LIMIT);
    clients.set(site.id, { site, client });
    return client;
  };
  /** Computed once per row: due listings ask for it each second. */
  const sharedAccountOf = memoize((row: StorageRow): string | undefined => {
    const secrets = secretsOf(undefined, row, { driverOf });
    if (secrets.length === 0) return undefined;
    const hash = createHash("sha256").update(secrets.toSorted().join("\0")).digest("base64");
    return `${row.driver}\0${hash}`;
  });
  const accountOf = (site: Site, row: StorageRow): string =>
    sharedAccountOf(row) ?? `${site.id}\0${row.mount_path}`;
  const running = new Set<string>();
  const waiting = new Set<{ readonly account: string; readonly begin: () => void }>();
  const isFree = (account: string): boolean => running.size < MAX_RUNNING && !running.has(account);
  /** @returns whether the listing may begin; false: it was aborted. */
  const enter = (account: string, signal: AbortSignal | undefined): Promise<boolean> | boolean => {
    if (signal?.aborted) return false;
    if (isFree(account)) {
      running.add(account);
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const next = {
      account,
      begin: (): void => {
        signal?.removeEventListener("abort", abort);
        resolve(true);
      },
    };
    const abort = (): void => {
      waiting.delete(next);
      resolve(false);
    };
    waiting.add(next);
    signal?.addEventListener("abort", abort, { once: true });
    return promise;
  };
  const leave = (account: string): void => {
    running.delete(account);
    for (const next of waiting) {
      if (running.size >= MAX_RUNNING) break;
      if (!isFree(next.account)) continue;
      waiting.delete(next);
      running.add(next.account);
      next.begin();
    }
  };
  return {
    isFree: (site, row) => isFree(accountOf(site, row)),
    accountOf,
    list: async (site, row, others, mayBegin = () => true, signal = undefined) => {
      const account = accountOf(site, row);
      if (!isFree(account) && waiting.size >= MAX_WAITING)
        return { outcome: "unknown", reason: message("LISTINGS_BUSY") };
      if (!(await enter(account, signal))) return undefined;
      try {
        if (!mayBegin()) return undefined;
        const client = clientOf?.(site) ?? ownClientOf(site);
        return await listMount(client, row, others, secretsOf(undefined, row, { driverOf }));
      } finally {
        leave(account);
      }
    },
    close: () => {
      for (const { client } of clients.values()) client.close();
    },
  };
}

async function listMount(
  client: Pick<SiteClient, "call">,
  row: StorageRow,
  others: readonly string[],
  secrets: readonly string[],
): Promise<Listed> {
  const base = below(row.mount_path);
  const inside = others.filter((path) => path.startsWith(base) && path !== row.mount_path);
  const isOwn = ({ name }: Entry): boolean =>
    !inside.some((path) => path === base + name || path.startsWith(`${base}${name}/`));
  const end = performance.now() + LIMIT;
  const read = (path: string, refresh: boolean) => {
    const limit = Math.max(1, Math.ceil(end - performance.now()));
    return readFolder(client, path, { refresh, secrets, limit });
  };
  try {
    if (inside.length === 0) return { outcome: "works", ...(await read(row.mount_path, true)) };
    // Servers list the mounts below a mount even if the mount itself fails: only entries of its own
    // show whether it works.
    const own = (await read(row.mount_path, false)).entries.filter(isOwn);
    const folder = own.find(({ isFolder }) => isFolder);
    if (folder !== undefined) {
      await read(base + folder.name, true);
      return { outcome: "works", entries: own, total: own.length };
    }
    const entries =
      own.length === 0 ? [] : (await read(row.mount_path, true)).entries.filter(isOwn);
    if (entries.length > 0) return { outcome: "works", entries, total: entries.length };
    return { outcome: "unknown", reason: message("ONLY_MOUNTS_BELOW") };
  } catch (failure) {
    if (!(failure instanceof SiteFailure)) throw failure;
    if (failure.kind !== "refused") return { outcome: "unknown", reason: failure.text };
    return { outcome: "fails", error: failure.message };
  }
}

/** @returns the first entries of a folder, and the number of all. */
async function readFolder(
  client: Pick<SiteClient, "call">,
  path: string,
  {
    refresh,
    ...limits
  }: { readonly refresh: boolean; readonly secrets: readonly string[]; readonly limit: number },
): Promise<{ readonly entries: readonly Entry[]; readonly total: number }> {
  const body = { path, password: "", refresh, page: 1, per_page: MAX_ENTRIES };
  const data = await client.call("POST", "/api/fs/list", body, limits);
  const { content, total } = (data ?? {}) as { content?: unknown; total?: unknown };
  const rows: readonly unknown[] = Array.isArray(content) ? content.slice(0, MAX_ENTRIES) : [];
  const entries = rows.flatMap((row): Entry[] => {
    const { name, is_dir: isFolder } = (row ?? {}) as { name?: unknown; is_dir?: unknown };
    if (typeof name !== "string") return [];
    return [{ name: name.slice(0, MAX_NAME).toWellFormed(), isFolder: isFolder === true }];
  });
  const isCount = typeof total === "number" && Number.isSafeInteger(total) && total >= 0;
  return { entries, total: Math.max(entries.length, isCount ? total : 0) };
}

function below(path: string): string {
  return path === "/" ? "/" : `${path}/`;
}
