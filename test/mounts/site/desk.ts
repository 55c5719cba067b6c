import type { DriverInfo } from "../../../src/drivers/driver-info.ts";
import { createStorageClient, type StorageClient } from "../../../src/mounts/site/client.ts";
import { createMountRegistry } from "../../../src/mounts/site/registry.ts";
import { type MountRound, runMountRound } from "../../../src/mounts/site/round.ts";
import type { StorageRow, WantedMount } from "../../../src/mounts/site/row.ts";
import type { MountState } from "../../../src/mounts/site/state.ts";
import { createFingerprint, type Fingerprint } from "../../../src/secrets/fingerprint.ts";
import { createSiteClient } from "../../../src/sync/client.ts";
import type { RecordStateStore } from "../../../src/sync/record-state-store.ts";
import { REQUEST } from "../../../src/sync/record-state-store.ts";
import { builtIn } from "../../drivers/sample.ts";
import type { Storages } from "./stand-in.ts";

const drivers = new Map(builtIn.drivers.map((driver) => [driver.config.name, driver]));

export const hash = createFingerprint(Buffer.alloc(32, 7));

export function driverByName(name: string): DriverInfo | undefined {
  return drivers.get(name);
}

/** A mount of Mooring. */
export function mount(changes: Partial<WantedMount> = {}): WantedMount {
  return {
    name: "films",
    path: "/films",
    driver: "Local",
    disabled: false,
    content: "adopt",
    members: {},
    revision: 1,
    credentialRevision: 1,
    missing: [],
    items: { root_folder_path: "/srv/films" },
    ...changes,
  };
}

/** The row of a server that equals `mount()`. */
export function storageRow(changes: Partial<StorageRow> = {}): StorageRow {
  return {
    id: 7,
    mount_path: "/films",
    driver: "Local",
    addition: '{"root_folder_path":"/srv/films"}',
    status: "work",
    disabled: false,
    ...changes,
  };
}

/** Id of the site of a desk. */
export const SITE = "s";

/** States of mounts in memory, which outlive a process as in a database. */
export function memoryStore(): RecordStateStore {
  const rows = new Map<string, { siteId: string; name: string; state: string }>();
  const marks = new Map<string, string>();
  return {
    marks: async () => new Map(marks),
    ofSite: async (site) => [...rows.values()].filter(({ siteId }) => siteId === site),
    list: async (only) =>
      [...rows.values()]
        .filter(({ name }) => only === undefined || name.startsWith(REQUEST))
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    write: async (changes) => {
      for (const { siteId, name, state } of changes) {
        marks.set(siteId, String(Number(marks.get(siteId) ?? 0) + 1));
        if (state === undefined) rows.delete(`${siteId} ${name}`);
        else rows.set(`${siteId} ${name}`, { siteId, name, state });
      }
    },
  };
}

export interface DeskOptions {
  readonly store?: RecordStateStore;
  readonly limit?: number;
  readonly now?: () => number;
  /** Wraps the calls, for failures in between. */
  readonly wrap?: (client: StorageClient) => StorageClient;
  readonly mayWrite?: () => boolean;
  /** Hashes of secrets. Default: `hash`. */
  readonly hash?: Fingerprint;
  /** Whether the site follows. Default: it does. */
  readonly follows?: () => boolean;
}

/** One process of Mooring with one site. */
export interface Desk {
  wanted: WantedMount[];
  round(options?: { aim?: "read" | "push"; forced?: readonly string[] }): Promise<MountRound>;
  state(name?: string): MountState | undefined;
  contacted(): boolean;
  close(): void;
}

export async function openDesk(
  site: Pick<Storages, "url" | "token">,
  options: DeskOptions = {},
): Promise<Desk> {
  const registry = createMountRegistry(options.store ?? memoryStore(), 0);
  await registry.load();
  const raw = createSiteClient({ url: site.url, token: site.token, ca: "", pin: "" }, 2);
  const plain = createStorageClient(raw, options.limit);
  const client = options.wrap?.(plain) ?? plain;
  const desk: Desk = {
    wanted: [],
    round: ({ aim = "push", forced = [] } = {}) =>
      runMountRound(
        { siteId: SITE, aim, forced },
        {
          rateLimit: async () => undefined,
          rulesFirst: async () => [],
          client,
          registry,
          hash: options.hash ?? hash,
          driverOf: driverByName,
          now: options.now ?? Date.now,
          wanted: () => desk.wanted,
          mayWrite: options.mayWrite ?? (() => true),
          follows: options.follows ?? (() => true),
        },
      ),
    state: (name = "films") => registry.records("s").get(name),
    contacted: () => registry.site("s").contacted,
    close: () => raw.close(),
  };
  return desk;
}

/** Calls that change something, such as `create` and `update`, in order. */
export function writes(site: Storages): string[] {
  return site.calls
    .filter(({ call }) => /\/(?:create|update|enable|disable|delete)$/.test(call))
    .map(({ call }) => call.slice(call.lastIndexOf("/") + 1));
}
