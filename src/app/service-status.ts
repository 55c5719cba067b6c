import type { Config } from "../config/config.ts";
import { errorOf } from "../sites/site.ts";
import type { SiteService } from "../sites/site-service.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { type OpenBackups, scheduleText } from "./backups.ts";
import type { Foundation } from "./foundation.ts";
import { summaryOf } from "./site-summary.ts";
import type { FollowedFiles } from "./state-file.ts";
import { createStatusService, type StatusService } from "./status.ts";

/** State of the process. */
export interface ProcessState {
  /** Number of open streams. */
  readonly watchers: () => number;
  readonly draining: () => boolean;
  /** The program's version, such as `v0.1.0`. */
  readonly version: string;
}

/** The state of the service for `status` and for checks of readiness. */
export function openStatus(
  config: Config,
  { watchers, draining, version }: ProcessState,
  {
    foundation: { store, services, drivers },
    siteService,
    upstream,
    files,
    backups,
    backupState,
  }: {
    readonly foundation: Foundation;
    readonly siteService: SiteService;
    readonly upstream: Upstream | undefined;
    readonly files: FollowedFiles;
    readonly backups: OpenBackups["backups"];
    readonly backupState: OpenBackups["schedule"];
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
      backups.place === undefined ? undefined : scheduleText(backupState(), Date.now()),
    files: files.note,
    upstreamAnswers: () => (upstream === undefined ? undefined : upstreamAnswers(siteService)),
    watchers,
    draining,
    version,
    database: databaseText(config),
    now: Date.now,
  });
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
