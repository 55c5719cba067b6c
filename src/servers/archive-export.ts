import { type ArchiveEntry, chosenOf, type StorePart } from "../archive/part.ts";
import { errorText } from "../error-text.ts";
import { message } from "../messages/message.ts";
import type { Site } from "../sites/site.ts";
import { createQueue } from "../sync/queue.ts";
import { countsOf, type ServerContents } from "./contents.ts";
import type { ReadOptions } from "./read.ts";
import { CONTENTS } from "./saved.ts";
import type { ServerService } from "./service.ts";

/** Number of servers that are read at the same time. */
const CONCURRENCY = 8;
/** Time limit for reading all servers, in milliseconds: one that does not answer must not hold up the others. */
const READ_TIMEOUT = 60_000;

/** Reads the servers of sites for an archive. Those that cannot be read are named. */
export function exportServers(
  servers: Pick<ServerService, "read"> | undefined,
  allSites: () => readonly Site[],
): StorePart["export"] {
  return async ({ grant, names, withSecrets, signal }) => {
    const sites = chosenOf(allSites(), names).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const isShown = withSecrets && grant.isRoot;
    const failed: { readonly name: string; readonly reason: string }[] = [];
    const entries: ArchiveEntry[] = [];
    if (servers === undefined) {
      const reason = String(message("SERVERS_NEED_SERVICE"));
      return { entries, failed: sites.map(({ name }) => ({ name, reason })) };
    }
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(new Error("not read in time")), READ_TIMEOUT);
    const until = AbortSignal.any([limit.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      const queue = createQueue(CONCURRENCY);
      const readOne = async (name: string): Promise<void> => {
        const read = await readServer(servers, name, { signal: until });
        signal?.throwIfAborted();
        if ("reason" in read) failed.push({ name, reason: read.reason });
        else {
          entries.push(toEntry(name, read.contents, isShown));
          failed.push(...read.failures.map((each) => ({ ...each, name: `${name} ${each.name}` })));
        }
      };
      await Promise.all(sites.map(({ name }) => queue.run(name, () => readOne(name))));
    } finally {
      clearTimeout(timer);
    }
    return { entries: entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)), failed };
  };
}

type ReadServer =
  | { readonly reason: string }
  | {
      readonly contents: ServerContents;
      readonly failures: readonly { readonly name: string; readonly reason: string }[];
    };

async function readServer(
  servers: Pick<ServerService, "read">,
  site: string,
  options: ReadOptions,
): Promise<ReadServer> {
  try {
    const { contents, failures } = await servers.read(site, options);
    const failed = failures.map(({ list, reason }) => ({ name: list, reason: String(reason) }));
    const [first] = failed;
    if (first !== undefined && Object.keys(contents).length === 0) return { reason: first.reason };
    return { contents, failures: failed };
  } catch (error) {
    return { reason: errorText(error) };
  }
}

function toEntry(name: string, contents: ServerContents, isShown: boolean): ArchiveEntry {
  return {
    name,
    content: {
      family: contents.users?.family ?? "",
      ...countsOf(contents),
    },
    secrets: isShown ? { [CONTENTS]: JSON.stringify(contents) } : {},
    missing: isShown ? [] : [CONTENTS],
    isSealed: false,
  };
}
