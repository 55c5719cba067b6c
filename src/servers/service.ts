import { mapWriteError } from "../database/error.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import type { SiteClient } from "../sync/client.ts";
import type { CopyOptions, UserCall, UserService } from "../users/service.ts";
import type { ListFailure, ServerContents } from "./contents.ts";
import { type ReadOptions, readContents } from "./read.ts";
import { type EntryResult, restoreEntries } from "./restore.ts";

/** Backup of a server, for a restore. */
export interface SavedContents {
  /** Name of the site of the backup. */
  readonly site: string;
  readonly contents: ServerContents;
}

export type RestoreOptions = Pick<CopyOptions, "passwords" | "dryRun">;

/** Unmanaged contents of servers, for backups and restores. NOT_FOUND: no such site. */
export interface ServerService {
  /** Reads it. A server that does not answer is a failure of each list, not an error. */
  read(
    site: string,
    options?: ReadOptions,
  ): Promise<{ readonly contents: ServerContents; readonly failures: readonly ListFailure[] }>;
  /**
   * Creates users, folder rules and shares that a server does not have, in this order; nothing that
   * exists is changed. With `dryRun` the result is the plan.
   *
   * @throws UNAVAILABLE, FAILED_PRECONDITION: the server cannot be read. INVALID_ARGUMENT: new users
   *   without a password.
   */
  restore(
    from: SavedContents,
    to: string,
    options: RestoreOptions,
    call: UserCall,
  ): Promise<readonly EntryResult[]>;
}

export interface ServerServiceDeps {
  readonly registry: Pick<SiteRegistry, "load" | "byName">;
  readonly clientOf: (site: Site) => SiteClient;
  readonly users: Pick<UserService, "restore">;
  /** Paths of the folder rules on a site that are managed here. Default: none. */
  readonly managedRules?: (site: Site) => Iterable<string>;
  /** Permits writes of folder rules to a site: all that it has come from a restore. Default: no effect. */
  readonly manageRules?: (siteId: string) => Promise<void>;
}

export function createServerService({
  registry,
  clientOf,
  users,
  managedRules = () => [],
  manageRules = async () => undefined,
}: ServerServiceDeps): ServerService {
  const siteNamed = async (name: string): Promise<Site> => {
    await mapWriteError(registry.load());
    return registry.byName(name);
  };
  const isManagedOn = (site: Site): ((path: string) => boolean) => {
    const paths = new Set(managedRules(site));
    return (path) => paths.has(path);
  };
  return {
    read: async (name, options) => {
      const site = await siteNamed(name);
      return readContents(clientOf(site), isManagedOn(site), options);
    },
    restore: async ({ site, contents }, to, options, call) => {
      const target = await siteNamed(to);
      const restored =
        contents.users === undefined
          ? []
          : await users.restore(
              { name: site, users: contents.users },
              to,
              { ...options, names: [], update: [] },
              call,
            );
      return [
        ...restored.map((result): EntryResult => ({ list: "users", ...result })),
        ...(await restoreEntries(
          clientOf(target),
          contents,
          restored,
          {
            ...options,
            isManaged: isManagedOn(target),
            manageRules: () => manageRules(target.id),
          },
          call,
        )),
      ];
    },
  };
}
