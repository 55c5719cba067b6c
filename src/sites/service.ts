import { Code } from "@connectrpc/connect";
import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import { contentEtag } from "../content-etag.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { failedPrecondition, ServiceError, unavailable } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { message, type Text } from "../messages/message.ts";
import { ownValue } from "../own-value.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { SETTINGS } from "../settings/kind.ts";
import { MASK } from "../settings/value.ts";
import { type Collection, createStateFeed, type View } from "../state-feed.ts";
import { type SiteFailure, SiteFailure as SiteFailureClass } from "../sync/failure.ts";
import { checkKeys, type SiteInput, sentSecrets, withInput } from "./input.ts";
import type { KindOfSites, KindResult, RecordResult } from "./record-effect.ts";
import { addressOf, changedMembers, type SiteRegistry } from "./registry.ts";
import { type Adoption, adoptValues } from "./settings/adoption.ts";
import type { Comparison } from "./settings/compare.ts";
import type { Pushed } from "./settings/push.ts";
import type { Round } from "./settings/round.ts";
import type { SettingSync } from "./settings/sync.ts";
import {
  errorOf,
  followsTooEarly,
  NEW_SITE,
  NEW_STATE,
  type Site,
  type SiteState,
  type SiteView,
} from "./site.ts";
import type { SiteEvent, StoredSiteEvent } from "./store.ts";

/** Result of a sync, or of its dry run. */
interface Synced {
  /** Pushed revision. */
  readonly revision: number;
  readonly results: readonly Pushed[];
  readonly comparisons: readonly Comparison[];
  /** Result of connecting the download managers. */
  readonly connected: readonly string[];
}

/** All sites at one time, by their ids. */
export interface WatchedSites extends Collection<SiteView> {
  /** Settings of that time: the state of a site depends on their revision. */
  readonly snapshot: Snapshot;
}

/** Service for sites. UNAVAILABLE: the site does not answer. FAILED_PRECONDITION: the site refuses. */
export interface SiteService {
  /** The newest revision of the settings. */
  revision(): number;
  list(): readonly SiteView[];
  /** @throws NOT_FOUND. */
  get(name: string): SiteView;
  /** Creates a site in mode `observe`. @throws INVALID_ARGUMENT; ALREADY_EXISTS; as check (nothing is stored then). */
  create(input: SiteInput, origin: AuditOrigin): Promise<SiteView>;
  /** Etag of the members of a site that clients set, without secrets. */
  etagOf(site: Site): string;
  /** @throws INVALID_ARGUMENT; NOT_FOUND; ALREADY_EXISTS; ABORTED for another etag; FAILED_PRECONDITION for `follow` before the first adoption or sync, and for a site that a file declares. */
  update(
    name: string,
    input: SiteInput,
    origin: AuditOrigin,
    options?: {
      readonly dryRun?: boolean;
      /** Whether the caller may read secrets of the site, and so send them elsewhere. Default: true. */
      readonly reveals?: boolean;
      /** Etag that the site must have. Undefined: any. */
      readonly expectedEtag?: string | undefined;
    },
  ): Promise<{ readonly view: SiteView; readonly records: readonly KindResult[] }>;
  /**
   * Removes a site; its server is unchanged. Records that name it stay on their other sites, or on
   * none.
   *
   * @returns these records. @throws NOT_FOUND; FAILED_PRECONDITION for a site, or a record of it, that a file declares.
   */
  delete(
    name: string,
    origin: AuditOrigin,
    options?: { readonly dryRun?: boolean },
  ): Promise<readonly KindResult[]>;
  /** Reads the site now. */
  check(name: string): Promise<SiteView>;
  compare(
    name: string,
  ): Promise<{ readonly view: SiteView; readonly comparisons: readonly Comparison[] }>;
  /** Stores the site's values in Mooring. @param keys empty: all. @throws INVALID_ARGUMENT for unknown keys. */
  adopt(
    name: string,
    options: {
      readonly keys: readonly string[];
      readonly dryRun: boolean;
      /** Whether the caller may read secrets. Default: true. */
      readonly reveals?: boolean;
      /** Checks the right of the caller after the site was read. Default: no-op. */
      readonly renew?: () => Promise<void>;
    },
    origin: RevisionOrigin,
  ): Promise<Adoption>;
  /** Pushes Mooring's values. @param keys as for adopt. */
  sync(
    name: string,
    options: {
      readonly keys: readonly string[];
      readonly dryRun: boolean;
      readonly connectDownloaders: boolean;
    },
    actor: string,
  ): Promise<Synced>;
  log(name: string, limit: number, before?: number): Promise<readonly StoredSiteEvent[]>;
  /** Streams all sites, then each one that changes. @throws UNAVAILABLE at the end. */
  watch<M>(view: View<WatchedSites, M>, signal: AbortSignal): AsyncIterable<M>;
  /**
   * Sites that follow and get no change now: they are paused, or could not be read.
   *
   * @param isAsked by id; default: all sites.
   */
  pending(
    isAsked?: (siteId: string) => boolean,
  ): readonly { readonly site: string; readonly reason: Text }[];
  /** Wakes streams after a change of the records of sites. */
  changed(): void;
}

export interface SiteServiceDeps {
  readonly registry: SiteRegistry;
  readonly settings: SettingSync;
  readonly ledger: Ledger;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  readonly managedBy: (key: string) => string | undefined;
  /** File that declares a site; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  readonly now: () => number;
  /** A new id of a site. */
  readonly newId: () => string;
  /** Aborted when the service stops; ends all watches. */
  readonly stopping: AbortSignal;
  readonly onEvent: (site: Site, event: SiteEvent) => void;
  /** Kinds of records beside settings. */
  readonly kinds: readonly KindOfSites[];
}

/** Maximum number of sites: each needs a list of settings in memory and a call per minute. */
const MAX_SITES = 1_000;

export function createSiteService(deps: SiteServiceDeps): SiteService {
  const { registry, settings, ledger } = deps;
  const viewOf = (site: Site): SiteView => ({
    site,
    state: registry.state(site.id),
    records: deps.kinds.map((kind) => kind.ofSite(site)),
  });
  const keysOf = ({ known }: SiteState): ReadonlySet<string> =>
    new Set([...Array.from(ledger.snapshot().of(SETTINGS).items(), ({ key }) => key), ...known]);
  const isSecret = (key: string): boolean => ledger.snapshot().get(SETTINGS, key)?.secret === true;
  const known = (state: SiteState, reveals = true) => ({
    definitionOf: deps.definitionOf,
    maxValueBytes: deps.maxValueBytes,
    keys: keysOf(state),
    mayRedirect: (key: string) => reveals || !isSecret(key),
  });
  const namedOf = (site: Site, keys: readonly string[]): readonly string[] => {
    if (keys.length > 0) checkKeys(keys, keysOf(registry.state(site.id)));
    return keys;
  };
  const taken = (site: Site): ServiceError => {
    const others = registry.sites().filter(({ id }) => id !== site.id);
    const address = addressOf(site.url);
    const same = others.find(({ url }) => addressOf(url) === address);
    const isNamed = same === undefined || others.some(({ name }) => name === site.name);
    return new ServiceError(
      Code.AlreadyExists,
      isNamed
        ? message("SITE_EXISTS", { name: site.name })
        : message("SITE_ADDRESS_TAKEN", { name: same.name, url: same.url }),
    );
  };
  const noted = (origin: AuditOrigin, { name }: Site, detail: AuditEntry["detail"]) =>
    doneEntry(origin, deps.now(), [name], detail);
  const leave = async (site: Site, origin: AuditOrigin, dryRun: boolean): Promise<KindResult[]> => {
    const results: KindResult[] = [];
    for (const each of deps.kinds)
      results.push(...withKind(each, await each.leave(site, origin, { dryRun })));
    return results;
  };
  const read = (site: Site): Promise<Round> =>
    mapSiteFailure(settings.round(site, { aim: "read", actor: "sites" }));
  const feed = createStateFeed<WatchedSites>({
    read: (before) => readSites(before, registry.sites().map(viewOf), ledger.snapshot()),
    isCurrent: ({ snapshot }) => snapshot === ledger.snapshot(),
    stopping: deps.stopping,
    ended: () => unavailable(message("SERVICE_STOPPING")),
  });
  registry.onChange(feed.changed);
  const etagOf = ({ token: _, upstream: __, overrides, ...shown }: Site): string =>
    contentEtag({
      ...shown,
      overrides: Object.entries(overrides).map(([key, value]) => [
        key,
        isSecret(key) && value !== "" ? MASK : value,
      ]),
    });
  const service: SiteService = {
    revision: () => ledger.snapshot().revision,
    list: () => registry.sites().map(viewOf),
    get: (name) => viewOf(registry.byName(name)),
    etagOf,
    create: async (input, origin) => {
      if (registry.sites().length >= MAX_SITES)
        throw new ServiceError(
          Code.ResourceExhausted,
          message("TOO_MANY_SITES", { most: MAX_SITES }),
        );
      const site = withInput(
        { ...NEW_SITE, id: deps.newId(), created: deps.now() },
        input,
        known(NEW_STATE),
      );
      if (followsTooEarly(undefined, site, NEW_STATE)) throw tooEarly(site);
      const { url, mode } = site;
      if (!(await registry.insert(site, [noted(origin, site, { url, mode })]))) throw taken(site);
      try {
        await read(site);
      } catch (error) {
        await registry.delete(site.id, [
          noted(origin, site, { undone: "the site was not reached" }),
        ]);
        throw error;
      }
      return viewOf(site);
    },
    update: async (name, input, origin, options = {}) => {
      const { dryRun = false, reveals, expectedEtag } = options;
      const before = registry.byName(name);
      checkManaged(name, deps.declaredBy(name));
      if (expectedEtag !== undefined && expectedEtag !== etagOf(before))
        throw new ServiceError(
          Code.Aborted,
          message("SITE_CHANGED", { name, expected: expectedEtag.slice(0, 60) }),
        );
      const state = registry.state(before.id);
      const site = withInput(before, input, known(state, reveals));
      if (followsTooEarly(before, site, state)) throw tooEarly(site);
      const sent = reveals === false ? sentSecrets(before, input, isSecret) : [];
      const changed = changedMembers(before, site, sent);
      const records = deps.kinds.flatMap((each) => withKind(each, each.affected(before, site)));
      if (dryRun) return { view: { ...viewOf(before), site }, records };
      const isDone = await registry.update(site, [noted(origin, site, { changed })], before);
      if (isDone === undefined) {
        await registry.load();
        return service.update(name, input, origin, options);
      }
      if (!isDone) throw taken(site);
      const isReached = site.url !== before.url || site.token !== before.token;
      if (isReached || site.ca !== before.ca || site.pin !== before.pin)
        await registry.clearError(site.id);
      return { view: viewOf(site), records };
    },
    delete: async (name, origin, { dryRun = false } = {}) => {
      const site = registry.byName(name);
      checkManaged(name, deps.declaredBy(name));
      const planned = await leave(site, origin, true);
      if (dryRun) return planned;
      await settings.exclusive(site.id, () => registry.delete(site.id, [noted(origin, site, {})]));
      // Only now: a record that leaves an existing site is removed from its server.
      return leave(site, origin, false);
    },
    check: async (name) => {
      const site = registry.byName(name);
      await read(site);
      return viewOf(site);
    },
    compare: async (name) => {
      const site = registry.byName(name);
      const { comparisons } = await read(site);
      return { view: viewOf(site), comparisons };
    },
    adopt: async (name, { keys, dryRun, reveals = true, renew }, origin) => {
      const site = registry.byName(name);
      return mapSiteFailure(
        adoptValues(deps, site, { keys: namedOf(site, keys), dryRun, reveals, origin, renew }),
      );
    },
    sync: async (name, { keys, dryRun, connectDownloaders }, actor) => {
      const site = registry.byName(name);
      const asked = keys.length === 0 ? undefined : namedOf(site, keys);
      const { revision } = ledger.snapshot();
      const aim = dryRun ? "read" : "push";
      const round = await mapSiteFailure(
        settings.round(site, { aim, actor, force: !dryRun, ...(asked && { keys: asked }) }),
      );
      const chosen = asked && new Set(asked);
      const isAsked = (key: string): boolean => chosen?.has(key) ?? true;
      const connected =
        connectDownloaders && !dryRun ? await mapSiteFailure(connect(deps, site)) : [];
      return {
        revision,
        results: round.results,
        comparisons: round.comparisons.filter(({ key }) => isAsked(key)),
        connected,
      };
    },
    log: (name, limit, before) => registry.log(registry.byName(name).id, limit, before),
    watch: feed.watch,
    pending: (isAsked = () => true) =>
      registry.sites().flatMap((site) => {
        if (site.mode !== "follow" || !isAsked(site.id)) return [];
        const error = errorOf(viewOf(site));
        if (site.paused) return [{ site: site.name, reason: message("SITE_IS_PAUSED") }];
        return error === undefined ? [] : [{ site: site.name, reason: error.message }];
      }),
    changed: feed.changed,
  };
  return service;
}

/**
 * Sites by name, so that a renamed one is removed by its old name. Keeps the objects of unchanged
 * sites.
 *
 * @returns `before` when nothing has changed.
 */
function readSites(
  before: WatchedSites | undefined,
  views: readonly SiteView[],
  snapshot: Snapshot,
): WatchedSites {
  const items = new Map(
    views.map((view) => {
      const old = before?.items.get(view.site.name);
      const isSame =
        old?.site === view.site &&
        old.state === view.state &&
        view.records.every((each, at) => each === old.records[at]);
      return [view.site.name, isSame ? old : view];
    }),
  );
  const isUnchanged =
    before?.snapshot === snapshot &&
    before.items.size === items.size &&
    [...items].every(([name, view]) => before.items.get(name) === view);
  return isUnchanged ? before : { items, snapshot };
}

function withKind(
  { kind }: Pick<KindOfSites, "kind">,
  results: readonly RecordResult[],
): readonly KindResult[] {
  return results.map((result) => ({ ...result, kind }));
}

function tooEarly({ name }: Site): ServiceError {
  return failedPrecondition(message("SITE_CANNOT_FOLLOW", { name }));
}

/** Makes the site connect its download managers with Mooring's values. */
async function connect({ settings, ledger }: SiteServiceDeps, site: Site): Promise<string[]> {
  const value = (key: string): string =>
    ownValue(site.overrides, key) ?? ledger.snapshot().get(SETTINGS, key)?.value ?? "";
  const managers = [
    ["set_aria2", "aria2_uri", { uri: value("aria2_uri"), secret: value("aria2_secret") }],
    [
      "set_qbit",
      "qbittorrent_url",
      { url: value("qbittorrent_url"), seedtime: value("qbittorrent_seedtime") },
    ],
    [
      "set_transmission",
      "transmission_uri",
      { uri: value("transmission_uri"), seedtime: value("transmission_seedtime") },
    ],
  ] as const;
  const connected: string[] = [];
  for (const [call, key, body] of managers) {
    if (value(key) === "") continue;
    const secrets = Object.values(body);
    await settings.exclusive(site.id, ({ client }) =>
      client.call("POST", `/api/admin/setting/${call}`, body, { secrets, limit: 60_000 }),
    );
    connected.push(call.slice("set_".length));
  }
  return connected;
}

/** Converts the failure of a site to an error for clients. */
export async function mapSiteFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof SiteFailureClass ? siteError(error) : error;
  }
}

/** Converts a failed call to a site to an error for the client. */
export function siteError(failure: SiteFailure): ServiceError {
  const { kind, text } = failure;
  return kind === "unreachable" || kind === "silent" || kind === "loading"
    ? unavailable(text, failure)
    : new ServiceError(Code.FailedPrecondition, text, { cause: failure });
}
