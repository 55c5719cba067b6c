import { setTimeout as sleep } from "node:timers/promises";
import type { Lab } from "../lab.ts";
import { startMooring } from "../mooring.ts";
import { cpuMicros, residentBytes } from "../proc.ts";

/** What the service takes that nobody looks at, with the console and without. */
export interface ConsoleCost {
  /** Resident memory at rest, in bytes. */
  readonly memory: Sides;
  /** Processor time until it serves, in microseconds: waiting says nothing of the program. */
  readonly start: Sides;
}

interface Sides {
  readonly withConsole: readonly number[];
  readonly without: readonly number[];
}

/** A process comes to rest within this, in milliseconds. */
const RESTS = 2_000;

/** Starts the service with the console and without by turns, on a database that is there. */
export async function costOfConsole(lab: Lab): Promise<ConsoleCost> {
  const memory = { withConsole: [] as number[], without: [] as number[] };
  const start = { withConsole: [] as number[], without: [] as number[] };
  const folder = lab.stage.folder();
  // The first start makes the database.
  await (await startMooring(lab, { folder })).server.stop();
  for (let round = 0; round < (lab.quick ? 1 : 9); round += 1)
    for (const [mode, side] of [
      ["on", "withConsole"],
      ["off", "without"],
    ] as const) {
      const environment = { MOORING_CONSOLE: mode };
      const { server } = await startMooring(lab, { folder, environment });
      start[side].push(cpuMicros(server.pid));
      await sleep(RESTS);
      memory[side].push(residentBytes(server.pid));
      await server.stop();
    }
  return { memory, start };
}
