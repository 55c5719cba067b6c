import { createThrottle } from "../access/throttle.ts";
import type { Checkpoints } from "../audit/checkpoint.ts";
import type { Config } from "../config/config.ts";
import { mapWriteError } from "../database/error.ts";
import { makeFolder } from "../database/sqlite/file.ts";
import { readBuiltIn } from "../drivers/built-in.ts";
import { createDriverService, type LiveCatalogue, openCatalogue } from "../drivers/driver.ts";
import { createKinds } from "../history/kinds.ts";
import { createRestore } from "../history/restore.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Localize } from "../messages/localize.ts";
import { mountRules } from "../mounts/kind.ts";
import { folderRules } from "../rules/kind.ts";
import { createRuleView } from "../rules/rule-view.ts";
import { createServerService, type ServerService } from "../servers/service.ts";
import { SETTINGS } from "../settings/kind.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import { errorOf } from "../sites/site.ts";
import type { SiteService } from "../sites/site-service.ts";
import type { Sites, SiteTimes } from "../sites/sites.ts";
import { createDeclared } from "../state-file/declared.ts";
import type { Store } from "../store/stores.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Visitor } from "../upstream/session.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { randomPassword } from "../users/password.ts";
import { createUserService, type UserService } from "../users/service.ts";
import { type OpenAccess, openAccess } from "./access.ts";
import { type ArchiveParts, mountsToExport, openArchive, rulesToExport } from "./archive.ts";
import { keepAudit, openAudit } from "./audit.ts";
import { type BackupParts, openBackups, scheduleText } from "./backups.ts";
import { openStore } from "./database.ts";
import { deriveKeyApart } from "./key-process.ts";
import { type MountTimes, type OpenMounts, openMounts } from "./mounts.ts";
import type { Services } from "./routes.ts";
import { type OpenRules, openRules } from "./rules.ts";
import { type SettingServiceOptions, startSettingServices } from "./settings.ts";
import { summaryOf } from "./site-summary.ts";
import { openRegistry, openSiteService, openSites, openUpstream } from "./sites.ts";
import { followFiles } from "./state-file.ts";
import { createStatusService } from "./status.ts";

/** Dependencies of services on the process. */
export interface ServicesDeps
  extends Omit<SettingServiceOptions, "store" | "commonLog" | "managedBy"> {
  readonly commonLog: Logger;
  /** Cost of scrypt of sealed archives; undefined: that of the program. */
  readonly passphraseCost?: ArchiveParts["passphraseCost"];
  /** Derivation of keys; undefined: costly ones in a process of their own. */
  readonly deriveKey?: ArchiveParts["deriveKey"];
  /** Check of backups; undefined: in a process of its own. */
  readonly checkBackup?: BackupParts["check"];
  /** Other interval for the schedule of backups, in milliseconds; undefined: that of the program. */
  readonly backupInterval?: number | undefined;
  /** Other intervals for the background work on sites; undefined: those of the program. */
  readonly siteTimes?: SiteTimes | undefined;
  /** Timings of mounts and incidents. */
  readonly mountTimes?: MountTimes | undefined;
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
 * Starts the services in phases: drivers and stores, the ledger, services, background work, the
 * upstream and access. They are closed in reverse order, also when the start fails.
 *
 * @throws Error with a message for the operator.
 */
export async function startServices(config: Config, deps: ServicesDeps): Promise<RunningServices> {
  await using opened = new AsyncDisposableStack();
  const { log, commonLog, watchers, localize, draining, version } = deps;
  const drivers = await openDrivers(config, commonLog);
  opened.defer(drivers.close);
  makeFolder(config.dataDir);
  const store = await openStore(config, (level, message) => log[level](message));
  opened.defer(() => store.close());
  // Aborted when streams are to end.
  const ending = new AbortController();
  const registry = await openRegistry(config, { store, log, times: deps.siteTimes });
  const driverOf = (name: string) => drivers.current().get(name);
  const declared = createDeclared();
  const services = await startSettingServices(config, {
    ...deps,
    store,
    managedBy: (key) => declared.by("settings", key),
    otherKinds: [
      mountRules({ driverOf, sites: registry.names }),
      folderRules({ sites: registry.names }),
    ],
  });
  opened.defer(services.close);
  const { ledger, feed } = services;
  const sites = await openSites(config, {
    services,
    store,
    registry,
    log,
    times: deps.siteTimes,
  });
  const {
    rules,
    onSites: rulesOnSites,
    kindOfSites: rulesOfSites,
    ...ruleWork
  } = openRules({
    sites,
    store,
    services,
    log,
    declaredBy: declared.by,
    times: deps.mountTimes,
  });
  opened.defer(ruleWork.close);
  const { incidents, mounts, ...mountWork } = await openMounts(config, {
    sites,
    store,
    services,
    driverOf,
    log,
    driverNames: () => drivers.current().names,
    declaredBy: declared.by,
    rulesFirst: ruleWork.beforeMounts.settle,
    times: deps.mountTimes,
  });
  opened.defer(mountWork.close);
  // Mounts may have waited for the rules.
  ruleWork.onWork(mountWork.reconcile);
  opened.defer(sites.close);
  // Opened last, because it begins to write to its server; the access identifies its admins.
  let upstream: Upstream | undefined;
  const { authentication, manager, archivePart, close } = await openAccess({
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
  opened.defer(close);
  incidents.watchTokens(manager.unrenewedTokens);
  const { users, servers } = openServerContents({
    registry,
    sites,
    store,
    ledger,
    rules: ruleWork,
    log,
  });
  const archive = openArchive(config, {
    services,
    servers,
    sites: sites.registry,
    effects: [mounts.onSites, rulesOfSites],
    declaredBy: declared.by,
    mounts: mountsToExport(mounts),
    rules: rulesToExport(rules, rulesOnSites),
    webhooks: incidents.targets,
    access: archivePart,
    driverOf,
    driverNames: () => drivers.current().names,
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
    kinds: [mounts.onSites, rulesOfSites],
    declaredBy: (name) => declared.by("sites", name),
    log,
    stopping: ending.signal,
  });
  await sites.start();
  upstream = openUpstream(config, {
    services,
    sites,
    service: siteService,
    forwardMounts: mounts.forward,
    forwardRules: ruleWork.forward,
    audit: (entry) => mapWriteError(store.audit.append([entry])),
    log,
    times: deps.siteTimes,
  });
  opened.defer(() => upstream?.close());
  const kinds = createKinds([services.kind, mounts.kind, rules.kind]);
  const restore = createRestore({ ...services, store, kinds });
  const audit = openAudit({ store, log });
  opened.defer(audit.close);
  const checkpoints = keepAudit(config, { store, log });
  opened.defer(checkpoints.stop);
  const { backups, ...backupWork } = await openBackups(config, {
    archive,
    leases: store.sites,
    databaseId: () => store.databaseId,
    report: incidents.report,
    log,
    check: deps.checkBackup,
    interval: deps.backupInterval,
  });
  opened.defer(backupWork.stop);
  const running = opened.move();
  return {
    ...services,
    kinds,
    restore,
    line: services.settings.line,
    sites: siteService,
    users,
    servers,
    pendingSites: siteService.pending,
    mounts,
    rules,
    incidents: incidents.incidents,
    webhooks: incidents.webhooks,
    days: incidents.days,
    siteName: incidents.siteName,
    siteNames: registry.names,
    siteIdOf: (name) => registry.names().named(name).id,
    readSites: () => readSiteNames(registry),
    placeOf: incidents.placeOf,
    coverage: (siteId) => ({ ...mounts.coverage(siteId), interval: config.probeIntervalMs }),
    driverOf,
    incidentCounts: incidents.counts,
    access: manager,
    archive,
    backups,
    backupState: backupWork.schedule,
    audit,
    checkpoints,
    isSecret: (key) => ledger.snapshot().get(SETTINGS, key)?.secret === true,
    databaseId: () => store.databaseId,
    databaseAwayFor: store.awayFor,
    drivers: createDriverService({ live: drivers, stopping: ending.signal }),
    status: createStatusService({
      store,
      ledger,
      drivers: () => drivers.current().names.length,
      sites: async () => {
        await upstream?.probe();
        return summaryOf(siteService);
      },
      backups: () =>
        backups.place === undefined ? undefined : scheduleText(backupWork.schedule(), Date.now()),
      files: files.note,
      upstreamAnswers: () => (upstream === undefined ? undefined : upstreamAnswers(siteService)),
      watchers,
      draining,
      version,
      database: databaseText(config),
      now: Date.now,
    }),
    upstream,
    authentication,
    endStreams: () => {
      ending.abort();
      feed.close();
      audit.endStreams();
      mountWork.endStreams();
      ruleWork.endStreams();
    },
    close: () => running.disposeAsync(),
  };
}

/** Answer about a visitor before the upstream is opened. */
const NOT_YET: Visitor = { kind: "silent", words: "the service is starting" };

/** Reads the drivers and follows their folder. */
function openDrivers(
  { family, driversDir, driversEnabled }: Config,
  log: Logger,
): Promise<LiveCatalogue> {
  return openCatalogue({
    builtIn: () => readBuiltIn({ offer: family }),
    directory: driversDir,
    enabled: driversEnabled,
    onError: (error) => log.error({ reason: error.message }, "the driver folder is invalid"),
    onNotice: (message) => log.info(message),
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
