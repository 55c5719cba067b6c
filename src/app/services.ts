import { createThrottle } from "../access/throttle.ts";
import type { Checkpoints } from "../audit/checkpoint.ts";
import type { Config } from "../config/config.ts";
import { mapWriteError } from "../database/error.ts";
import { createDriverService } from "../drivers/driver.ts";
import { createKinds } from "../history/kinds.ts";
import { createRestore } from "../history/restore.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Localize } from "../messages/localize.ts";
import { createRuleView } from "../rules/rule-view.ts";
import { createServerService, type ServerService } from "../servers/service.ts";
import { SETTINGS } from "../settings/kind.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import { errorOf } from "../sites/site.ts";
import type { SiteService } from "../sites/site-service.ts";
import type { Sites } from "../sites/sites.ts";
import type { Store } from "../store/stores.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Visitor } from "../upstream/session.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { randomPassword } from "../users/password.ts";
import { createUserService, type UserService } from "../users/service.ts";
import { type OpenAccess, openAccess } from "./access.ts";
import { type ArchiveParts, mountsToExport, openArchive, rulesToExport } from "./archive.ts";
import { keepAudit, openAudit } from "./audit.ts";
import { type BackupParts, type OpenBackups, openBackups, scheduleText } from "./backups.ts";
import { type Foundation, type FoundationDeps, openFoundation } from "./foundation.ts";
import { deriveKeyApart } from "./key-process.ts";
import type { OpenMounts } from "./mounts.ts";
import type { Services } from "./routes.ts";
import type { OpenRules } from "./rules.ts";
import { summaryOf } from "./site-summary.ts";
import { openSiteWork, type SiteWork, type SiteWorkDeps } from "./site-work.ts";
import { openSiteService, openUpstream } from "./sites.ts";
import { type FollowedFiles, followFiles } from "./state-file.ts";
import { createStatusService, type StatusService } from "./status.ts";

/** Dependencies of services on the process. */
export interface ServicesDeps extends FoundationDeps, SiteWorkDeps {
  readonly log: Logger;
  /** Cost of scrypt of sealed archives; undefined: that of the program. */
  readonly passphraseCost?: ArchiveParts["passphraseCost"];
  /** Derivation of keys; undefined: costly ones in a process of their own. */
  readonly deriveKey?: ArchiveParts["deriveKey"];
  /** Check of backups; undefined: in a process of its own. */
  readonly checkBackup?: BackupParts["check"];
  /** Other interval for the schedule of backups, in milliseconds; undefined: that of the program. */
  readonly backupInterval?: number | undefined;
  /** Number of open streams. */
  readonly watchers: () => number;
  readonly localize: Localize;
  readonly draining: () => boolean;
}

/** Services behind the contract. */
export interface RunningServices extends Services {
  readonly authentication: OpenAccess["authentication"];
  /** The upstream. */
  readonly upstream: Upstream | undefined;
  readonly ledger: Ledger;
  /** Unmanaged contents of servers. */
  readonly servers: ServerService;
  /** Open incidents by class. */
  readonly incidentCounts: OpenMounts["incidents"]["counts"];
  /** Id of the database. It changes when a standby of PostgreSQL is promoted. */
  databaseId(): string;
  readonly checkpoints: Checkpoints;
  /** Milliseconds since the last answer if the database is unavailable; 0: it is available. */
  databaseAwayFor(): number;
  /** Ends every stream with UNAVAILABLE: they would never end by themselves. */
  endStreams(): void;
  close(): Promise<void>;
}

/**
 * Starts the services in phases: data, work on sites, access, archive and files, the upstream, and the
 * rest. They are closed in reverse order, also when the start fails.
 *
 * @throws Error with a message for the operator.
 */
export async function startServices(config: Config, deps: ServicesDeps): Promise<RunningServices> {
  await using opened = new AsyncDisposableStack();
  const { log, commonLog, localize, version } = deps;
  // Aborted when streams are to end.
  const ending = new AbortController();
  const foundation = await openFoundation(config, deps, opened);
  const { drivers, driverOf, store, registry, declared, services } = foundation;
  const { ledger } = services;
  const siteWork = await openSiteWork(config, foundation, deps, opened);
  const { sites, rules, mounts, kinds } = siteWork;
  const { incidents } = mounts;
  // Opened last, because it begins to write to its server; the access identifies its admins.
  let upstream: Upstream | undefined;
  const access = await openAccess({
    ledger,
    store,
    upstream:
      config.upstream === undefined
        ? undefined
        : { identify: (...visitor) => upstream?.identify(...visitor) ?? NOT_YET },
    localize,
    log,
    throttle: createThrottle({ perMinute: config.wrongTokens }),
    endedTokenAge: config.endedTokenAgeMs,
  });
  opened.defer(access.close);
  incidents.watchTokens(access.manager.unrenewedTokens);
  const { users, servers } = openServerContents({ registry, sites, store, ledger, rules, log });
  const archive = openArchive(config, {
    services,
    servers,
    sites: sites.registry,
    effects: kinds,
    declaredBy: declared.by,
    mounts: mountsToExport(mounts.mounts),
    rules: rulesToExport(rules.rules, rules.onSites),
    webhooks: incidents.targets,
    access: access.archivePart,
    driverOf,
    driverNames: foundation.driverNames,
    databaseId: () => store.databaseId,
    passphraseCost: deps.passphraseCost,
    deriveKey: deps.deriveKey ?? deriveKeyApart,
    version,
  });
  // Before any write to a site: an invalid file ends the start.
  const files = await followFiles(config, {
    archive,
    declared,
    sites: registry,
    ledger,
    definitionOf: services.definitionOf,
    log: commonLog,
  });
  opened.defer(files.close);
  await services.begin();
  const siteService = openSiteService(config, {
    services,
    sites,
    kinds,
    declaredBy: (name) => declared.by("sites", name),
    log,
    stopping: ending.signal,
  });
  await sites.start();
  upstream = openUpstream(config, {
    services,
    sites,
    service: siteService,
    forwardMounts: mounts.mounts.forward,
    forwardRules: rules.forward,
    audit: (entry) => mapWriteError(store.audit.append([entry])),
    log,
    times: deps.siteTimes,
  });
  opened.defer(() => upstream?.close());
  const audit = openAudit({ store, log });
  opened.defer(audit.close);
  const checkpoints = keepAudit(config, { store, log });
  opened.defer(checkpoints.stop);
  const backups = await openBackups(config, {
    archive,
    leases: store.sites,
    databaseId: () => store.databaseId,
    report: incidents.report,
    log,
    check: deps.checkBackup,
    interval: deps.backupInterval,
  });
  opened.defer(backups.stop);
  const status = openStatus(config, deps, { foundation, siteService, upstream, files, backups });
  const running = opened.move();
  return {
    ...services,
    ...historyOf(siteWork, foundation),
    ...incidentSource(config, siteWork, registry),
    line: services.settings.line,
    sites: siteService,
    users,
    servers,
    pendingSites: siteService.pending,
    mounts: mounts.mounts,
    rules: rules.rules,
    siteNames: registry.names,
    siteIdOf: (name) => registry.names().named(name).id,
    driverOf,
    incidentCounts: incidents.counts,
    access: access.manager,
    archive,
    backups: backups.backups,
    backupState: backups.schedule,
    audit,
    checkpoints,
    isSecret: (key) => ledger.snapshot().get(SETTINGS, key)?.secret === true,
    databaseId: () => store.databaseId,
    databaseAwayFor: store.awayFor,
    drivers: createDriverService({ live: drivers, stopping: ending.signal }),
    status,
    upstream,
    authentication: access.authentication,
    endStreams: () => {
      ending.abort();
      services.feed.close();
      audit.endStreams();
      mounts.endStreams();
      rules.endStreams();
    },
    close: () => running.disposeAsync(),
  };
}

/** Answer about a visitor before the upstream is opened. */
const NOT_YET: Visitor = { kind: "silent", words: "the service is starting" };

/** The history of all kinds of records. */
function historyOf({ mounts, rules }: SiteWork, { services, store }: Foundation) {
  const kinds = createKinds([services.kind, mounts.mounts.kind, rules.rules.kind]);
  return { kinds, restore: createRestore({ ...services, store, kinds }) };
}

/** Incidents, webhooks and days with the names of sites. */
function incidentSource(
  { probeIntervalMs }: Config,
  { mounts: { mounts, incidents } }: SiteWork,
  registry: SiteRegistry,
) {
  return {
    incidents: incidents.incidents,
    webhooks: incidents.webhooks,
    days: incidents.days,
    siteName: incidents.siteName,
    placeOf: incidents.placeOf,
    readSites: () => readSiteNames(registry),
    coverage: async (siteId: string | undefined, signal: AbortSignal) => ({
      ...(await mounts.coverage(siteId, signal)),
      interval: probeIntervalMs,
    }),
  };
}

/** The state of the service for `status` and for checks of readiness. */
function openStatus(
  config: Config,
  { watchers, draining, version }: ServicesDeps,
  {
    foundation: { store, services, drivers },
    siteService,
    upstream,
    files,
    backups,
  }: {
    readonly foundation: Foundation;
    readonly siteService: SiteService;
    readonly upstream: Upstream | undefined;
    readonly files: FollowedFiles;
    readonly backups: OpenBackups;
  },
): StatusService {
  return createStatusService({
    store,
    ledger: services.ledger,
    drivers: () => drivers.current().names.length,
    sites: async () => {
      await upstream?.probe();
      return summaryOf(siteService);
    },
    backups: () =>
      backups.backups.place === undefined
        ? undefined
        : scheduleText(backups.schedule(), Date.now()),
    files: files.note,
    upstreamAnswers: () => (upstream === undefined ? undefined : upstreamAnswers(siteService)),
    watchers,
    draining,
    version,
    database: databaseText(config),
    now: Date.now,
  });
}

/** The accounts and the unmanaged contents of servers. */
function openServerContents({
  registry,
  sites,
  store,
  ledger,
  rules,
  log,
}: {
  readonly registry: SiteRegistry;
  readonly sites: Sites;
  readonly store: Pick<Store, "sites">;
  readonly ledger: Ledger;
  readonly rules: Pick<OpenRules, "retry" | "manage">;
  readonly log: Logger;
}): { readonly users: UserService; readonly servers: ServerService } {
  const { clientOf } = sites.sync;
  const users = createUserService({
    registry,
    clientOf,
    store: store.sites,
    revision: () => ledger.snapshot().revision,
    now: Date.now,
    randomPassword,
    onCreated: (siteId) =>
      void rules.retry(siteId).catch((error: unknown) => {
        log.error({ err: error }, "failed to retry folder rules");
      }),
  });
  const { wantedOf } = createRuleView(ledger);
  const servers = createServerService({
    registry,
    clientOf,
    users,
    managedRules: (site) => wantedOf(site).map(({ path }) => path),
    manageRules: rules.manage,
  });
  return { users, servers };
}

/** The database in the notation of the configuration. */
function databaseText({ database }: Config): string {
  return database.dialect === "sqlite" ? `sqlite:${database.filename}` : database.place;
}

/** State of the upstream: true if it answers; undefined before the first contact. */
function upstreamAnswers(sites: SiteService): boolean | undefined {
  const view = sites.list().find(({ site }) => site.upstream);
  return view === undefined ? undefined : !errorOf(view);
}
