import { existsSync } from "node:fs";
import type { Config } from "./config/config.ts";
import { createLogger } from "./server/log.ts";
import { type SettingServices, startSettingServices } from "./settings.ts";
import { openSqliteSettingStore } from "./store/sqlite-setting-store.ts";
import { programVersion } from "./version.ts";

/**
 * Opens the database of a configuration without serving it: for commands on a stopped service. A
 * service that runs on the same database takes notice of what is changed.
 *
 * @throws Error with a sentence for a person when there is no database, or it can't be used.
 */
export async function openOffline(config: Config): Promise<SettingServices> {
  const path = config.database.filename;
  if (!existsSync(path))
    throw new Error(
      `there is no database at ${path}: name the one of the service (--database, MOORING_DATABASE_URL or MOORING_DATA_DIR)`,
    );
  const store = await openSqliteSettingStore(path);
  try {
    const services = await startSettingServices(config, {
      store,
      log: await createLogger({ level: "silent", format: "json" }),
      version: programVersion(),
      // A database that a service has used has a token already.
      showToken: () => undefined,
    });
    return {
      ...services,
      close: async () => {
        await services.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}
