import { setTimeout as sleep } from "node:timers/promises";
import { wrkLoad } from "./load/wrk.ts";
import type { Mooring } from "./mooring.ts";
import { ownCpuMicros } from "./proc.ts";
import type { Stage } from "./stage.ts";

/** Instances that are read at the same time, each by a load generator of its own. */
export interface ReadSide {
  readonly instances: readonly Mooring[];
  /** Processors of the load generators. */
  readonly cores: string;
}

/** What one round of reads came to. */
export interface Reads {
  readonly perSecond: number;
  /** CPU time of a read at each instance, in microseconds. */
  readonly cpuMicros: readonly number[];
}

const CONNECTIONS = 8;

/** Reads of one setting, with a token. */
async function readOnce(stage: Stage, { instances, cores }: ReadSide, seconds: number) {
  const loads = instances.map(({ port, token: authorization }) =>
    wrkLoad(stage, {
      ...{ port, cores, connections: CONNECTIONS, headers: { authorization } },
      path: "/api/admin/setting/get?key=site_title",
    }),
  );
  const before = instances.map(({ server }) => ownCpuMicros(server.pid));
  const results = await Promise.all(loads.map((load) => load(seconds)));
  return {
    perSecond: results.reduce((sum, { requests, seconds }) => sum + requests / seconds, 0),
    cpuMicros: instances.map(
      ({ server }, at) =>
        (ownCpuMicros(server.pid) - (before[at] ?? 0)) / (results[at]?.requests ?? 0),
    ),
  };
}

/**
 * Rounds of each side, by turns and in changing order: what else happens on the machine falls on all
 * alike. A process that has just started needs twice the time for a read: warm it up before.
 */
export async function readsByTurns(
  stage: Stage,
  sides: readonly ReadSide[],
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<Reads[][]> {
  const made: Reads[][] = sides.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = [...sides.entries()];
    for (const [at, side] of round % 2 === 0 ? order : order.toReversed())
      made[at]?.push(await readOnce(stage, side, seconds));
  }
  return made;
}

/** Has each instance read alone until its code is compiled. */
export async function warmUp(
  stage: Stage,
  instances: readonly Mooring[],
  options: { readonly seconds: number; readonly cores: string },
): Promise<void> {
  for (const instance of instances)
    await readOnce(stage, { instances: [instance], cores: options.cores }, options.seconds);
}

/** Share of a core that an instance takes which nobody calls, 0 to 1. */
export async function idleShare({ server }: Mooring, seconds: number): Promise<number> {
  const before = ownCpuMicros(server.pid);
  await sleep(seconds * 1_000);
  return (ownCpuMicros(server.pid) - before) / 1e6 / seconds;
}
