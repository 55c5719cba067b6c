import { createThrottle } from "../access/throttle.ts";
import type { Archive } from "../archive/archive.ts";
import type { Checkpoints } from "../audit/checkpoint.ts";
import type { Config } from "../config/config.ts";
import { mapWriteError } from "../database/error.ts";
import { createDriverService } from "../drivers/driver.ts";
import { createKinds } from "../history/kinds.ts";
import { createRestore } from "../history/restore.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Localize } from "../messages/localize.ts";
import type { ServerService } from "../servers/service.ts";
import { SETTINGS } from "../settings/kind.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Visitor } from "../upstream/session.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { type OpenAccess, openAccess } from "./access.ts";
import { type ArchiveParts, mountsToExport, openArchive, rulesToExport } from "./archive.ts";
import { keepAudit, openAudit } from "./audit.ts";
import { type BackupParts, openBackups } from "./backups.ts";
import { type Foundation, type FoundationDeps, openFoundation } from "./foundation.ts";
import { deriveKeyApart } from "./key-process.ts";
import type { OpenMounts } from "./mounts.ts";
import type { Services } from "./routes.ts";
import { openServerContents } from "./server-contents.ts";
import { openStatus, type ProcessState } from "./service-status.ts";
import { openSiteWork, type SiteWork, type SiteWorkDeps } from "./site-work.ts";
import { openSiteService, openUpstream } from "./sites.ts";
import { followFiles } from "./state-file.ts";

/** Dependencies of services on the process. */
export interface ServicesDeps extends FoundationDeps, SiteWorkDeps, ProcessState {
  readonly log: Logger;
  /** Cost of scrypt of sealed archives; undefined: that of the program. */
  readonly passphraseCost?: ArchiveParts["passphraseCost"];
  /** Derivation of keys; undefined: costly ones in a process of their own. */
  readonly deriveKey?: ArchiveParts["deriveKey"];
  /** Check of backups; undefined: in a process of its own. */
  readonly checkBackup?: BackupParts["check"];
  /** Other interval for the schedule of backups, in milliseconds; undefined: that of the program. */
  readonly backupInterval?: number | undefined;
  readonly localize: Localize;
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
  const { log, commonLog, localize } = deps;
  // Aborted when streams are to end.
  const ending = new AbortController();
  const foundation = await openFoundation(config, deps, opened);
  const { drivers, store, registry, declared, services } = foundation;
  const { ledger } = services;
  const siteWork = await openSiteWork(config, foundation, deps, opened);
  const { sites, rules, mounts, kinds } = siteWork;
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
  mounts.incidents.watchTokens(access.manager.unrenewedTokens);
  const { users, servers } = openServerContents(foundation, siteWork, log);
  const archive = openArchive(config, {
    ...archiveParts(foundation, siteWork, deps),
    servers,
    access: access.archivePart,
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
  const kept = await openAuditAndBackups(config, { archive, foundation, siteWork, deps }, opened);
  const status = openStatus(config, deps, {
    ...kept,
    foundation,
    siteService,
    upstream,
    files,
  });
  const running = opened.move();
  return {
    ...services,
    ...historyOf(siteWork, foundation),
    ...incidentSource(config, siteWork, registry),
    ...recordSource(siteWork, foundation),
    sites: siteService,
    pendingSites: siteService.pending,
    users,
    servers,
    access: access.manager,
    archive,
    ...kept,
    databaseId: () => store.databaseId,
    databaseAwayFor: store.awayFor,
    drivers: createDriverService({ live: drivers, stopping: ending.signal }),
    status,
    upstream,
    authentication: access.authentication,
    endStreams: () => {
      ending.abort();
      services.feed.close();
      kept.audit.endStreams();
      mounts.endStreams();
      rules.endStreams();
    },
    close: () => running.disposeAsync(),
  };
}

/** Answer about a visitor before the upstream is opened. */
const NOT_YET: Visitor = { kind: "silent", words: "the service is starting" };

/** Audit with its checkpoints, and backups. */
async function openAuditAndBackups(
  config: Config,
  {
    archive,
    foundation: { store },
    siteWork: { mounts },
    deps: { log, checkBackup, backupInterval },
  }: {
    readonly archive: Archive;
    readonly foundation: Foundation;
    readonly siteWork: SiteWork;
    readonly deps: ServicesDeps;
  },
  opened: AsyncDisposableStack,
) {
  const audit = openAudit({ store, log });
  opened.defer(audit.close);
  const checkpoints = keepAudit(config, { store, log });
  opened.defer(checkpoints.stop);
  const { backups, schedule, stop } = await openBackups(config, {
    archive,
    leases: store.sites,
    databaseId: () => store.databaseId,
    report: mounts.incidents.report,
    log,
    check: checkBackup,
    interval: backupInterval,
  });
  opened.defer(stop);
  return { audit, checkpoints, backups, backupState: schedule };
}

/** Parts of archives that foundation and work on sites have. */
function archiveParts(
  { services, store, declared, driverOf, driverNames }: Foundation,
  { sites, rules, mounts, kinds }: SiteWork,
  { passphraseCost, deriveKey = deriveKeyApart, version }: ServicesDeps,
): Omit<ArchiveParts, "servers" | "access"> {
  return {
    services,
    sites: sites.registry,
    effects: kinds,
    declaredBy: declared.by,
    mounts: mountsToExport(mounts.mounts),
    rules: rulesToExport(rules.rules, rules.onSites),
    webhooks: mounts.incidents.targets,
    driverOf,
    driverNames,
    databaseId: () => store.databaseId,
    passphraseCost,
    deriveKey,
    version,
  };
}

/** The history of all kinds of records. */
function historyOf({ mounts, rules }: SiteWork, { services, store }: Foundation) {
  const kinds = createKinds([services.kind, mounts.mounts.kind, rules.rules.kind]);
  const { line } = services.settings;
  return { kinds, line, restore: createRestore({ ...services, store, kinds }) };
}

/** Records of sites, with what their messages show besides. */
function recordSource(
  { mounts, rules }: SiteWork,
  { registry, driverOf, services: { ledger } }: Foundation,
) {
  return {
    mounts: mounts.mounts,
    rules: rules.rules,
    siteNames: registry.names,
    siteIdOf: (name: string) => registry.names().named(name).id,
    driverOf,
    isSecret: (key: string) => ledger.snapshot().get(SETTINGS, key)?.secret === true,
  };
}

/** Incidents, webhooks and days with the names of sites. */
function incidentSource(
  { probeIntervalMs }: Config,
  { mounts: { mounts, incidents } }: SiteWork,
  registry: SiteRegistry,
) {
  return {
    incidents: incidents.incidents,
    incidentCounts: incidents.counts,
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
