import { Code } from "@connectrpc/connect";
import { createBoundedLock } from "../bounded-lock.ts";
import { invalid, ServiceError } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { ArchiveDocument } from "./document.ts";
import { type ExportDeps, type ExportOptions, exportParts } from "./export.ts";
import { type ImportDeps, type Imported, type ImportOptions, importParts } from "./import.ts";
import { type ArchiveCaller, type ArchivePart, unknownPart } from "./part.ts";

export interface ArchiveDeps<Draft> extends ExportDeps, ImportDeps<Draft> {
  /** In the order of their imports: parts that others refer to first. */
  readonly parts: readonly ArchivePart<Draft>[];
}

/** Archives of everything that its parts have. */
export interface Archive {
  /** Reports whether a caller may export a part, and so may learn the names of its entries. */
  canExport(grant: ArchiveCaller["grant"], part: string): boolean;
  /** Names of the parts, without those that call servers. */
  readonly parts: readonly string[];
  /**
   * Writes the entries that the caller may read. Parts that the caller may not export are named in the
   * document.
   *
   * @throws INVALID_ARGUMENT; PERMISSION_DENIED for a part that is named in `only`; RESOURCE_EXHAUSTED
   *   when too many others are sealed.
   */
  export(grant: ArchiveCaller["grant"], options: ExportOptions): Promise<ArchiveDocument>;
  /**
   * Imports an archive, a backup or list of an AList or OpenList server. Everything in the ledger is one
   * revision. Other parts are written before and after it, entry by entry; they are planned first, so
   * that an invalid source changes nothing. The same import again completes one that has failed.
   *
   * @param value parsed JSON. @returns the results; with `dryRun` the expected ones.
   * @throws INVALID_ARGUMENT when the source cannot be read or has invalid values; PERMISSION_DENIED
   *   for a part that is named in `only`.
   */
  import(value: unknown, caller: ArchiveCaller, options: ImportOptions): Promise<Imported>;
}

/** Maximum number of waiting imports. */
const MAX_WAITING = 8;

export function createArchive<Draft>(deps: ArchiveDeps<Draft>): Archive {
  const { parts } = deps;
  /** One import at a time: each holds a whole site. */
  const imports = createBoundedLock(
    MAX_WAITING,
    () => new ServiceError(Code.ResourceExhausted, message("IMPORTS_BUSY")),
  );
  return {
    canExport: (grant, name) => {
      const part = parts.find((each) => each.name === name);
      if (part === undefined) return grant.isRoot;
      return part.exportScope === undefined || grant.has(part.exportScope);
    },
    parts: parts.flatMap(({ name, isOfServers = false }) => (isOfServers ? [] : [name])),
    export: async (grant, options) => {
      const chosen = chooseParts(parts, options.only, options.isBackup);
      return exportParts(deps, chosen, grant, options);
    },
    import: (value, caller, options) =>
      imports.run(
        async () => {
          await caller.renew?.();
          const chosen = chooseParts(parts, options.only, options.isRestore);
          return importParts(deps, { value, chosen, caller, options });
        },
        { signal: options.signal },
      ),
  };
}

/**
 * Parts of a call.
 *
 * @param only their names. Empty: all, those that call servers only if `withServers`.
 * @throws INVALID_ARGUMENT for an unknown name.
 */
function chooseParts<Draft>(
  parts: readonly ArchivePart<Draft>[],
  only: readonly string[],
  withServers = false,
): readonly ArchivePart<Draft>[] {
  const names = parts.map(({ name }) => name);
  for (const name of only)
    if (!names.includes(name))
      throw invalid([{ field: "only", description: unknownPart(name, names) }]);
  return only.length === 0
    ? parts.filter(({ isOfServers = false }) => withServers || !isOfServers)
    : parts.filter(({ name }) => only.includes(name));
}
