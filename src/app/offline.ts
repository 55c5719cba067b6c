import { ConnectError, createRouterTransport, type Interceptor } from "@connectrpc/connect";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { backupImpl } from "../archive/rpc.ts";
import { auditImpl } from "../audit/rpc.ts";
import type { Offline } from "../cli/world.ts";
import type { Config } from "../config/config.ts";
import { type CallInfo, callKey } from "../gateway/call.ts";
import { toConnectError } from "../gateway/report.ts";
import { createKinds } from "../history/kinds.ts";
import { createRestore, type Restore } from "../history/restore.ts";
import { historyImpl } from "../history/rpc.ts";
import { settingImpl } from "../settings/rpc.ts";
import { createLogger } from "../telemetry/log.ts";
import { openAudit } from "./audit.ts";
import { openExistingStore } from "./database.ts";
import { openOfflineMounts } from "./offline-mounts.ts";
import { startSettingServices } from "./settings.ts";
import { programVersion } from "./version.ts";

/**
 * Opens the database of a configuration for commands, without serving it. A running service on the same
 * database detects the changes.
 *
 * @throws Error with a message for the operator when the database is missing or unusable.
 */
export async function openOffline(config: Config): Promise<Offline> {
  const store = await openExistingStore(config);
  try {
    const log = await createLogger({ level: "silent", format: "json" });
    const services = await startSettingServices(config, {
      store,
      log,
      version: programVersion(),
      // A database that a service has used has a token already.
      showToken: () => undefined,
    });
    const audit = openAudit({ store, log });
    const { ledger, settings } = services;
    const mounts = await openOfflineMounts(config, store, ledger.snapshot);
    const restore: Restore = async (...call) => {
      const kinds = createKinds([services.kind, await mounts.restorable()]);
      return createRestore({ ...services, store, kinds })(...call);
    };
    const kinds = createKinds([services.kind, mounts.kind]);
    const history = { history: services.history, kinds, restore, line: settings.line };
    return {
      transport: createRouterTransport(
        (router) => {
          router.service(SettingService, {
            ...settingImpl(settings, audit),
            ...historyImpl({ ...history, pendingSites: () => [] }),
            ...backupImpl(services.backup, settings.snapshot, audit),
          });
          router.service(AuditService, auditImpl(audit));
        },
        { router: { interceptors: [asCli] } },
      ),
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
