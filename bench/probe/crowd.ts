// Stand-ins of servers with settings and mounts, in a process of their own, so that their work does
// not delay the measuring process. Argument: their number. The first line of output has their
// addresses. An input line is a title of the site, or `COUNT ORDER` for so many mounts of this order;
// it is answered as soon as every server has it, with the milliseconds since 1970.
import { createInterface } from "node:readline";
import { startWholeSite, type WholeSite } from "../../test/mounts/whole-site.ts";

/** Site for the service. */
export interface CrowdSite {
  readonly url: string;
  readonly token: string;
}

const servers = await Promise.all(
  Array.from({ length: Number(process.argv[2]) }, () => startWholeSite()),
);
const sites = servers.map(({ url, token }): CrowdSite => ({ url, token: token() }));
process.stdout.write(`${JSON.stringify(sites)}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  while (!servers.every((server) => isThere(server, line)))
    await new Promise((resolve) => setTimeout(resolve, 1));
  process.stdout.write(`${Date.now()}\n`);
}

function isThere({ settings, storages }: WholeSite, line: string): boolean {
  const [, mounts, order] = /^(\d+) (\d+)$/.exec(line) ?? [];
  if (mounts === undefined) return settings.value("site_title") === line;
  const rows = [...storages.rows.values()].filter(
    (row) => row.order === Number(order) && row.status === "work",
  );
  return rows.length >= Number(mounts);
}
