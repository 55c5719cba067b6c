import { randomBytes } from "node:crypto";
import {
  ConnectError,
  createRouterTransport,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { createAccessPart } from "../access/archive/part.ts";
import { createChange } from "../access/change.ts";
import { openAccessRegistry } from "../access/registry.ts";
import type { Archive } from "../archive/archive.ts";
import { chosenOf } from "../archive/part.ts";
import type { DeriveKey } from "../archive/passphrase.ts";
import { archiveImpl } from "../archive/rpc.ts";
import { auditImpl } from "../audit/rpc.ts";
import { backupsImpl } from "../backups/rpc.ts";
import { NO_SCHEDULE } from "../backups/schedule.ts";
import { BackupService as Backups } from "../backups/service.ts";
import type { Offline } from "../cli/world.ts";
import type { Config } from "../config/config.ts";
import type { Catalogue } from "../drivers/catalogue.ts";
import { toConnectError } from "../gateway/application-error.ts";
import { type CallInfo, callKey } from "../gateway/call.ts";
import { createKinds } from "../history/kinds.ts";
import { createRestore, type Restore } from "../history/restore.ts";
import { historyImpl } from "../history/rpc.ts";
import { createWebhookRegistry } from "../incidents/webhook/registry.ts";
import type { RunningSite } from "../mounts/effect.ts";
import { MOUNTS, mountRules, mountsByName } from "../mounts/kind.ts";
import { rulesKind } from "../rules/history-kind.ts";
import { folderRules, RULES, rulesByPath } from "../rules/kind.ts";
import { pathOfRule } from "../rules/path-of-rule.ts";
import { NO_SERVERS } from "../rules/rules-on-sites.ts";
import { createSealer } from "../secrets/sealer.ts";
import { settingImpl } from "../settings/rpc.ts";
import { createSiteRegistry, type SiteRegistry } from "../sites/registry.ts";
import { createDeclared, type Declared } from "../state-file/declared.ts";
import type { Store } from "../store/stores.ts";
import { createLogger } from "../telemetry/log.ts";
import { openArchive } from "./archive.ts";
import { openAudit } from "./audit.ts";
import { openExistingStore } from "./database.ts";
import { offlineSites, openOfflineMounts, readOfflineDrivers } from "./offline-mounts.ts";
import { createProcessCheck } from "./process-check.ts";
import { type SettingServices, startSettingServices } from "./settings.ts";
import { readDeclared } from "./state-file.ts";
import { programVersion } from "./version.ts";

/**
 * Opens the database of a configuration for commands, without serving it. A running service on the same
 * database detects the changes.
 *
 * @param deriveKey derivation of keys of sealed archives; default: scrypt in this process.
 * @throws Error with a message for the operator when the database is missing or unusable.
 */
export async function openOffline(config: Config, deriveKey?: DeriveKey): Promise<Offline> {
  const store = await openExistingStore(config);
  try {
    const log = await createLogger({ level: "silent", format: "json" });
    const drivers = await readOfflineDrivers(config);
    const siteNames = offlineSites(await store.sites.list());
    const declared = createDeclared();
    const services = await startSettingServices(config, {
      store,
      log,
      managedBy: (key) => declared.by("settings", key),
      otherKinds: [
        mountRules({ driverOf: (name) => drivers.get(name), sites: () => siteNames }),
        folderRules({ sites: () => siteNames }),
      ],
      version: programVersion(),
      // The retention is that of the service, whose variables a command may lack.
      compacts: false,
      // A database that a service has used has a token already.
      showToken: () => undefined,
    });
    await services.begin();
    const audit = openAudit({ store, log });
    const { ledger, settings } = services;
    const mounts = openOfflineMounts(store, {
      declaredBy: (name) => declared.by("mounts", name),
      drivers,
      sites: siteNames,
      snapshot: ledger.snapshot,
    });
    const history = offlineHistory(store, { services, mounts, declared, siteNames });
    const sites = createSiteRegistry({
      store: store.sites,
      sealer: createSealer(config.secretKeys),
      onClosed: () => undefined,
    });
    await sites.load();
    const archive = await openOfflineArchive(config, {
      store,
      services,
      sites,
      drivers,
      declared,
      running: await mounts.running(),
      deriveKey,
    });
    const { definitionOf } = services;
    await readDeclared(config, { declared, parts: archive.parts, definitionOf });
    // A target belongs to the service.
    const backups = new Backups({
      archive,
      target: undefined,
      passphrase: undefined,
      keep: {},
      check: createProcessCheck(config),
      lease: { take: async () => async () => undefined },
      databaseId: () => store.databaseId,
      now: Date.now,
    });
    return {
      transport: offlineTransport({ settings, audit, history, archive, backups, sites }),
      close: async () => {
        await audit.close();
        await services.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/**
 * Archives of a database without a service in this process. Another one may serve it: effects of
 * imported mounts on running servers are named.
 */
export async function openOfflineArchive(
  config: Config,
  {
    store,
    services,
    sites,
    drivers,
    declared,
    running,
    deriveKey,
  }: {
    readonly store: Store;
    readonly services: SettingServices;
    readonly sites: SiteRegistry;
    readonly drivers: Catalogue;
    readonly declared: Declared;
    /** Sites to whose servers a running service brings imported mounts. */
    readonly running: readonly RunningSite[];
    readonly deriveKey?: DeriveKey | undefined;
  },
): Promise<Archive> {
  const registry = await openAccessRegistry({ store: store.access, now: Date.now });
  const change = createChange({ store: store.access, registry, changed: async () => undefined });
  return openArchive(config, {
    services,
    sites,
    deriveKey,
    servers: undefined,
    effects: [],
    declaredBy: declared.by,
    mounts: {
      list: async (_grant, names) =>
        chosenOf([...mountsByName(services.ledger.snapshot().of(MOUNTS)).values()], names),
      managedBy: (name) => declared.by("mounts", name),
      running: () => running,
    },
    rules: {
      list: async (_grant, paths) => {
        const all = [...rulesByPath(services.ledger.snapshot().of(RULES)).values()];
        return chosenOf(
          all.map((rule) => ({ name: rule.path, rule })),
          paths,
        ).map(({ rule }) => rule);
      },
      onSites: NO_SERVERS,
    },
    webhooks: createWebhookRegistry({
      store: store.incidents,
      sealer: createSealer(config.secretKeys),
      onClosed: () => undefined,
    }),
    access: createAccessPart({ registry, change, randomBytes }),
    driverOf: (name) => drivers.get(name),
    driverNames: () => drivers.names,
    databaseId: () => store.databaseId,
    version: programVersion(),
  });
}

/** Origin of changes by a command without a service, for the history. */
const CLI: CallInfo = { actor: "cli", transport: "cli", requestId: "", peer: "" };

const asCli: Interceptor = (next) => async (request) => {
  request.contextValues.set(callKey, CLI);
  try {
    return await next(request);
  } catch (error) {
    throw unmasked(toConnectError(error));
  }
};

/** Adds the cause of a masked error: commands have no log that contains it. */
function unmasked(error: ConnectError): ConnectError {
  return error.cause instanceof Error
    ? new ConnectError(`${error.rawMessage} (${error.cause.message})`, error.code)
    : error;
}

/** History of all kinds of records, with restores. */
function offlineHistory(
  store: Store,
  {
    services,
    mounts,
    declared,
    siteNames,
  }: {
    readonly services: SettingServices;
    readonly mounts: ReturnType<typeof openOfflineMounts>;
    readonly declared: Declared;
    readonly siteNames: ReturnType<typeof offlineSites>;
  },
) {
  const allRules = () => rulesByPath(services.ledger.snapshot().of(RULES));
  const rules = rulesKind({
    rules: allRules,
    sites: () => siteNames,
    // No server gets anything before the next start of a service.
    onSites: NO_SERVERS,
    pathOf: pathOfRule(allRules),
    managedBy: (path) => declared.by("rules", path),
  });
  const restore: Restore = async (...call) => {
    const kinds = createKinds([services.kind, await mounts.restorable(), rules]);
    return createRestore({ ...services, store, kinds })(...call);
  };
  return {
    history: services.history,
    kinds: createKinds([services.kind, mounts.kind, rules]),
    restore,
    line: services.settings.line,
  };
}

/** Transport of commands: the services without a network. */
function offlineTransport({
  settings,
  audit,
  history,
  archive,
  backups,
  sites,
}: {
  readonly settings: SettingServices["settings"];
  readonly audit: ReturnType<typeof openAudit>;
  readonly history: ReturnType<typeof offlineHistory>;
  readonly archive: Archive;
  readonly backups: Backups;
  readonly sites: Pick<SiteRegistry, "names">;
}): Transport {
  return createRouterTransport(
    (router) => {
      router.service(SettingService, {
        ...settingImpl(settings, audit),
        ...historyImpl({
          ...history,
          pendingSites: () => [],
          siteIdOf: (name) => sites.names().named(name).id,
        }),
      });
      router.service(BackupService, {
        ...archiveImpl(archive, audit),
        ...backupsImpl(backups, () => NO_SCHEDULE, audit),
      });
      router.service(AuditService, auditImpl(audit));
    },
    { router: { interceptors: [asCli] } },
  );
}
