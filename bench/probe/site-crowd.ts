import { createInterface } from "node:readline";
import { type StandIn, startStandIn } from "../../test/sites/stand-in.ts";

/** Site for the service. */
export interface CrowdSite {
  readonly url: string;
  readonly token: string;
}

/**
 * Stand-ins of servers in a separate process, so that their CPU time is not counted. The first line
 * of output has their addresses. Each input line is a title; the answer is the time when the last
 * server had it, in milliseconds since 1970.
 */
async function main(count: number): Promise<void> {
  const sites = await Promise.all(Array.from({ length: count }, () => startStandIn()));
  process.stdout.write(
    `${JSON.stringify(sites.map((site) => ({ url: site.url, token: site.token() })))}\n`,
  );
  for await (const title of createInterface({ input: process.stdin }))
    process.stdout.write(`${await whenAllHave(sites, title)}\n`);
}

async function whenAllHave(sites: readonly StandIn[], title: string): Promise<number> {
  while (!sites.every((site) => site.value("site_title") === title))
    await new Promise((resolve) => setTimeout(resolve, 1));
  return Date.now();
}

await main(Number(process.argv[2]));
