import { rm } from "node:fs/promises";
import { pino } from "pino";
import { openStore } from "../../src/app/database.ts";
import { type SettingServices, startSettingServices } from "../../src/app/settings.ts";
import { parseConfig } from "../../src/config/config.ts";
import type { RevisionOrigin } from "../../src/ledger/store.ts";
import { createSealer } from "../../src/secrets/sealer.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import type { KindOfSites } from "../../src/sites/record-effect.ts";
import type { SiteService } from "../../src/sites/site-service.ts";
import {
  createSites,
  openSiteRegistry,
  type Sites,
  type SitesDeps,
  serveSites,
} from "../../src/sites/sites.ts";
import type { SiteEvent, SiteStore } from "../../src/sites/store.ts";
import { newDatabaseFolder } from "../store/folder.ts";
import type { StandIn } from "./stand-in.ts";

export const ORIGIN: RevisionOrigin = {
  actor: "test",
  transport: "cli",
  method: "",
  requestId: "",
  peer: "",
  reason: "",
};

const KEY = "0123456789abcdef".repeat(4);

/** Mooring's settings and sites on a database of their own, without transports. */
export interface Follower {
  readonly settings: SettingServices;
  readonly sites: Sites & { readonly service: SiteService };
  readonly folder: string;
  readonly events: SiteEvent[];
  save(key: string, value: string): Promise<number>;
  value(key: string): string | undefined;
  /** Ends it; a folder of another process is kept. */
  close(): Promise<void>;
}

export interface FollowerOptions {
  /** Folder of another process: a second process on the same database. */
  readonly folder?: string;
  readonly times?: SitesDeps["times"];
  readonly now?: () => number;
  /** Called with the name of each used method of the store of sites, which waits for a promise. */
  readonly onQuery?: (name: string) => void | Promise<void>;
  readonly kinds?: readonly KindOfSites[] | undefined;
  /** Variables in addition to its own. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startFollower(options: FollowerOptions = {}): Promise<Follower> {
  const folder = options.folder ?? newDatabaseFolder();
  const result = parseConfig({
    args: [],
    env: { MOORING_DATA_DIR: folder, MOORING_SECRET_KEY: KEY, ...options.env },
    cwd: folder,
    parallelism: 1,
    readFile: () => "",
  });
  if (result.kind !== "config") throw new Error("the test's configuration is wrong");
  const { config } = result;
  const store = await openStore(config, () => undefined);
  const settings = await startSettingServices(config, {
    store,
    log: pino({ level: "silent" }),
    version: "v1",
    managedBy: () => undefined,
    showToken: () => undefined,
  });
  await settings.begin();
  const events: SiteEvent[] = [];
  const onEvent: SitesDeps["onEvent"] = (_site, event) => void events.push(event);
  const sealer = createSealer(config.secretKeys);
  const siteStore = observed(store.sites, options.onQuery);
  const registry = await openSiteRegistry({
    store: siteStore,
    sealer,
    onClosed: () => undefined,
    batch: 0,
  });
  const common = {
    registry,
    onEvent,
    ledger: settings.ledger,
    maxValueBytes: config.maxValue,
    now: options.now ?? Date.now,
  };
  const sites = createSites({
    ...common,
    store: siteStore,
    feed: settings.feed,
    hash: settings.fingerprint,
    random: () => 0,
    onError: (error) => {
      throw error;
    },
    times: { tick: 25, reread: 100, read: 250, ...options.times },
  });
  const ending = new AbortController();
  const service = serveSites({
    ...common,
    settings: sites.settings,
    definitionOf: settings.definitionOf,
    managedBy: () => undefined,
    declaredBy: () => undefined,
    stopping: ending.signal,
    kinds: options.kinds ?? [],
  });
  await sites.start();
  // Like the wiring: commits of other processes are polled continuously.
  const timer = setInterval(() => void settings.ledger.fresh(), 50);
  return {
    settings,
    sites: { ...sites, service },
    folder,
    events,
    save: async (key, value) => {
      const { revision } = await settings.settings.save([{ key, value }], ORIGIN);
      return revision;
    },
    value: (key) => settings.ledger.snapshot().get(SETTINGS, key)?.value,
    close: async () => {
      clearInterval(timer);
      ending.abort();
      await sites.close();
      await settings.close();
      await store.close();
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

export const ALL = { keys: [], dryRun: false };

/** Adds a stand-in as a site with Mooring's values and mode follow. */
export async function followSite(
  { sites: { service } }: Follower,
  { url, token }: Pick<StandIn, "url" | "token">,
  name = "one",
): Promise<void> {
  await service.create({ name, url, token: token() }, ORIGIN);
  await service.adopt(name, ALL, ORIGIN);
  await service.update(name, { mode: "follow" }, ORIGIN);
}

/** The same store, with each call reported first. */
function observed(store: SiteStore, onQuery: FollowerOptions["onQuery"]): SiteStore {
  if (onQuery === undefined) return store;
  return new Proxy(store, {
    get: (target, name, receiver) => {
      const method: unknown = Reflect.get(target, name, receiver);
      if (typeof method !== "function") return method;
      return (...args: unknown[]) => {
        const gate = onQuery(String(name));
        const run = () => method.apply(target, args);
        return gate instanceof Promise ? gate.then(run) : run();
      };
    },
  });
}
