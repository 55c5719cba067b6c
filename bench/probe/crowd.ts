import { createInterface } from "node:readline";
import type { Storages } from "../../test/mounts/site/stand-in.ts";
import { startWholeSite } from "../../test/mounts/whole-site.ts";
import { type StandIn, startStandIn } from "../../test/sites/stand-in.ts";

/** Site for the service. */
export interface CrowdSite {
  readonly url: string;
  readonly token: string;
}

/** Answer when all servers have what the line names. */
export interface Brought {
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** Stand-in of a server, with its parts. */
interface Server extends CrowdSite {
  readonly settings?: StandIn;
  readonly storages?: Storages;
}

const kinds: Readonly<Record<string, () => Promise<Server>>> = {
  settings: async () => {
    const settings = await startStandIn();
    return { settings, url: settings.url, token: settings.token() };
  },
  // Servers with both, which Mooring itself can follow.
  whole: async () => {
    const { storages, url, token } = await startWholeSite();
    return { storages, url, token: token() };
  },
};

/**
 * Stand-ins of servers in a separate process, so that their CPU time is not counted. The first line
 * of output has their addresses. An input line is a title of the site, or `COUNT ORDER` for so many
 * mounts of this order; it is answered as soon as every server has it.
 */
async function main(count: number, kind: string): Promise<void> {
  const start = kinds[kind];
  if (start === undefined) throw new Error(`there is no kind ${kind}`);
  const servers = await Promise.all(Array.from({ length: count }, start));
  process.stdout.write(`${JSON.stringify(servers.map(({ url, token }) => ({ url, token })))}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    while (!servers.every((server) => isBrought(server, line)))
      await new Promise((resolve) => setTimeout(resolve, 1));
    process.stdout.write(`${JSON.stringify({ time: Date.now() } satisfies Brought)}\n`);
  }
}

function isBrought({ settings, storages }: Server, line: string): boolean {
  if (settings !== undefined) return settings.value("site_title") === line;
  const [mounts = 0, order = 0] = line.split(" ").map(Number);
  const rows = [...(storages?.rows.values() ?? [])];
  return rows.filter((row) => row.order === order && row.status === "work").length >= mounts;
}

await main(Number(process.argv[2]), process.argv[3] ?? "");
