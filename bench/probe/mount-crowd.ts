import { createInterface } from "node:readline";
import { driverByName } from "../../test/mounts/site/desk.ts";
import { type Storages, startStorages } from "../../test/mounts/site/stand-in.ts";
import { startWholeSite } from "../../test/mounts/whole-site.ts";

/**
 * Stand-ins of servers with mounts, in a separate process. The first line of output has their
 * addresses. An input line is `COUNT ORDER`. It is answered as soon as every server has COUNT
 * mounts of this order, with the time in milliseconds since 1970 and the number of calls of each
 * kind since the last answer.
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
    const calls: Record<string, number> = {};
    for (const site of sites)
      for (const { call } of site.calls.splice(0)) calls[call] = (calls[call] ?? 0) + 1;
    process.stdout.write(`${JSON.stringify({ time: Date.now(), calls })}\n`);
  }
}

function isBrought(site: Storages, mounts: number, order: number): boolean {
  let found = 0;
  for (const row of site.rows.values())
    if (row.order === order && row.status === "work") found += 1;
  return found >= mounts;
}

await main(Number(process.argv[2]), process.argv[3]);
