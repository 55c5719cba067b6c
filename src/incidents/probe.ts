import { createHash } from "node:crypto";
import type { DriverInfo } from "../drivers/driver-info.ts";
import { secretsOf } from "../mounts/site/plain.ts";
import type { StorageRow } from "../mounts/site/row.ts";
import type { SiteClient } from "../sites/client.ts";
import { SiteFailure } from "../sites/failure.ts";
import type { Site } from "../sites/site.ts";
import { classify } from "./incident.ts";

/** Time limit of a listing, in milliseconds: servers try a hanging provider four times, 30 s each. */
const LIMIT = 130_000;
/** Longest pause after failures, in milliseconds. */
const LONGEST = 6 * 3_600_000;
/** Maximum number of concurrent listings, over all sites. */
const MAX_RUNNING = 4;

export interface ProbeDeps {
  /** Mean interval between two listings of a mount in milliseconds, randomized by half. 0: no listings. */
  readonly interval: number;
  readonly clientOf: (site: Site) => Pick<SiteClient, "call">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly now: () => number;
  readonly random: () => number;
  /** @param error empty: the listing worked. */
  readonly onResult: (site: Site, row: StorageRow, error: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Periodic listings of mounts at their providers. */
export interface Probes {
  /** Updates the mounts of a site. */
  listed(site: Site, rows: readonly StorageRow[]): void;
  /** Starts due listings; resolves when they are done. */
  run(): Promise<void>;
}

interface Turn {
  readonly site: Site;
  readonly row: StorageRow;
  readonly others: readonly string[];
  readonly form: string;
  readonly next: number;
  readonly failures: number;
}

/**
 * Lists mounts with a refresh, which asks the provider (`POST /api/fs/list`). Each account has at
 * most one listing at a time. After an error of the classes `credential` and `person`, the mount is
 * not listed again until its row changes: each attempt would be a login, and providers lock
 * accounts after several failures.
 */
export function createProbes(deps: ProbeDeps): Probes {
  const { interval, now, random } = deps;
  const turns = new Map<string, Turn>();
  const accounts = new Set<string>();
  const later = (failures: number): number => {
    const pause = Math.min(interval * 2 ** failures, Math.max(interval, LONGEST));
    return now() + Math.round(pause * (0.5 + random()));
  };
  const probe = async (key: string, turn: Turn): Promise<void> => {
    const { site, row } = turn;
    const secrets = secretsOf(undefined, row, deps);
    const error = await list(deps.clientOf(site), row, turn.others, secrets);
    // The row was changed meanwhile, or the site itself did not answer: the result does not apply to the mount.
    const current = turns.get(key);
    if (current === undefined || current.form !== turn.form) return;
    if (error === undefined) {
      turns.set(key, { ...current, next: later(0) });
      return;
    }
    const kind = error === "" ? undefined : classify(error);
    const needsUser = kind === "credential" || kind === "person";
    const failures = kind === undefined ? 0 : current.failures + 1;
    const next = needsUser ? Number.POSITIVE_INFINITY : later(failures);
    turns.set(key, { ...current, failures, next });
    await deps.onResult(site, row, error);
  };
  return {
    listed: (site, rows) => {
      if (interval === 0) return;
      const keys = new Set<string>();
      for (const row of rows) {
        if (row.disabled || row.status !== "work") continue;
        const key = `${site.id}\0${row.mount_path}`;
        keys.add(key);
        const before = turns.get(key);
        const others = rows
          .map(({ mount_path }) => mount_path)
          .filter((path) => path.startsWith(below(row.mount_path)) && path !== row.mount_path);
        // Servers write refreshed tokens back without changing `modified`, so whole rows cannot be
        // compared.
        const form = JSON.stringify([row.id, row.driver, row["modified"]]);
        const isSame = before?.form === form;
        turns.set(key, {
          site,
          row,
          others,
          form,
          next: isSame ? before.next : now() + Math.round(interval * random()),
          failures: isSame ? before.failures : 0,
        });
      }
      for (const [key, turn] of turns)
        if (turn.site.id === site.id && !keys.has(key)) turns.delete(key);
    },
    run: async () => {
      const begun: Promise<void>[] = [];
      for (const [key, turn] of turns) {
        if (turn.next > now()) continue;
        if (accounts.size >= MAX_RUNNING) break;
        const account = accountOf(turn, deps.driverOf);
        if (accounts.has(account)) continue;
        accounts.add(account);
        // No second listing while the first one runs.
        turns.set(key, { ...turn, next: Number.POSITIVE_INFINITY });
        const work = probe(key, turn).catch((error) => {
          const current = turns.get(key);
          if (current !== undefined) turns.set(key, { ...current, next: later(1) });
          deps.onError(error);
        });
        begun.push(work.finally(() => accounts.delete(account)));
      }
      await Promise.all(begun);
    },
  };
}

/** Account of a mount at its provider: mounts with an equal secret value share one. */
function accountOf({ site, row }: Turn, driverOf: ProbeDeps["driverOf"]): string {
  const secrets = secretsOf(undefined, row, { driverOf });
  if (secrets.length === 0) return `${site.id}\0${row.mount_path}`;
  const hash = createHash("sha256").update(secrets.toSorted().join("\0")).digest("base64");
  return `${row.driver}\0${hash}`;
}

/** @returns the mount's error; empty: it works; undefined: unknown. */
async function list(
  client: Pick<SiteClient, "call">,
  row: StorageRow,
  others: readonly string[],
  secrets: readonly string[],
): Promise<string | undefined> {
  const listFolder = createLister(client, secrets);
  try {
    const path = await folderOf(listFolder, row, others);
    if (path === undefined) return undefined;
    await listFolder(path, true);
    return "";
  } catch (error) {
    if (!(error instanceof SiteFailure)) throw error;
    return error.kind === "refused" ? error.message : undefined;
  }
}

/**
 * Path to list for a mount: its root. If other mounts are below it, one of its own folders, because
 * servers list the mounts below even if this one fails.
 */
async function folderOf(
  listFolder: ListFolder,
  row: StorageRow,
  others: readonly string[],
): Promise<string | undefined> {
  if (others.length === 0) return row.mount_path;
  const names = await listFolder(row.mount_path, false);
  const base = below(row.mount_path);
  const own = names.find(
    (name) => !others.some((path) => path === base + name || path.startsWith(`${base}${name}/`)),
  );
  return own === undefined ? undefined : base + own;
}

/** @returns the names of the folders in it, of the first hundred entries. */
type ListFolder = (path: string, refresh: boolean) => Promise<string[]>;

/** @param secrets removed from messages. */
function createLister(client: Pick<SiteClient, "call">, secrets: readonly string[]): ListFolder {
  return async (path, refresh) => {
    const page = { page: 1, per_page: refresh ? 1 : 100 };
    const body = { path, password: "", refresh, ...page };
    const data = await client.call("POST", "/api/fs/list", body, { limit: LIMIT, secrets });
    const content = (data as { content?: unknown } | null)?.content;
    if (!Array.isArray(content)) return [];
    return content.flatMap((entry: { name?: unknown; is_dir?: unknown } | null) =>
      entry?.is_dir === true && typeof entry.name === "string" ? [entry.name] : [],
    );
  };
}

function below(path: string): string {
  return path === "/" ? "/" : `${path}/`;
}
