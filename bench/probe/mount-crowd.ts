import { createInterface } from "node:readline";
import { driverByName } from "../../test/mounts/site/desk.ts";
import { type Storages, startStorages } from "../../test/mounts/site/stand-in.ts";
import { startWholeSite } from "../../test/mounts/whole-site.ts";

/**
 * Stand-ins of servers with mounts, in a process of their own. The first line has their addresses. Each
 * line that comes is `COUNT ORDER`: it is answered, with the time in milliseconds since 1970 and the
 * calls of a list since the last answer, as soon as every server has so many mounts of this order.
 *
 * @param kind `whole`: servers with settings, too, which Mooring itself can follow.
 */
async function main(count: number, kind: string | undefined): Promise<void> {
  const made = await Promise.all(
    Array.from({ length: count }, async () => {
      if (kind !== "whole") {
        const storages = await startStorages(driverByName);
        return { storages, url: storages.url, token: storages.token };
      }
      const { storages, url, token } = await startWholeSite();
      return { storages, url, token: token() };
    }),
  );
  const sites = made.map(({ storages }) => storages);
  process.stdout.write(`${JSON.stringify(made.map(({ url, token }) => ({ url, token })))}\n`);
  for await (const line of createInterface({ input: process.stdin })) {
    const [mounts = 0, order = 0] = line.split(" ").map(Number);
    while (!sites.every((site) => isBrought(site, mounts, order)))
      await new Promise((resolve) => setTimeout(resolve, 1));
    const lists = sites.reduce((sum, site) => sum + site.count(LIST), 0);
    const calls = sites.reduce((sum, site) => sum + site.calls.length, 0);
    for (const site of sites) site.calls.length = 0;
    process.stdout.write(`${JSON.stringify({ time: Date.now(), lists, calls })}\n`);
  }
}

const LIST = "GET /api/admin/storage/list";

function isBrought(site: Storages, mounts: number, order: number): boolean {
  let found = 0;
  for (const row of site.rows.values())
    if (row.order === order && row.status === "work") found += 1;
  return found >= mounts;
}

await main(Number(process.argv[2]), process.argv[3]);
