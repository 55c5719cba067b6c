import type { EntryResult, StorePart } from "../archive/part.ts";
import { exportServers } from "./archive-export.ts";
import { restoreServer, type ServerImportDeps } from "./archive-import.ts";
import type { ServerService } from "./service.ts";

/** Maximum number of servers of an import, equal to that of sites. */
const MAX_SERVERS = 1_000;

export interface ServerPartDeps extends ServerImportDeps {
  /** Undefined: a command on the database itself calls no server. */
  readonly servers: Pick<ServerService, "read" | "restore"> | undefined;
}

/**
 * Unmanaged contents of servers in backups: one entry for each site. All of it is one
 * sealed secret, because it has passwords of shares and personal data. A restore creates what is missing
 * on a server, and changes nothing that exists there.
 */
export function createServerPart(deps: ServerPartDeps): StorePart {
  return {
    kind: "store",
    name: "servers",
    isOfServers: true,
    exportScope: "users:read",
    // The contents of a document are not bound to a server: they could be of an administrator.
    importNeedsRoot: true,
    most: MAX_SERVERS,
    export: exportServers(deps.servers, deps.sites),
    write: async ({ entries = [] }, context) => {
      const results: EntryResult[] = [];
      for (const entry of entries) {
        context.signal?.throwIfAborted();
        results.push(...(await restoreServer(deps, entry, context)));
      }
      return results;
    },
  };
}
