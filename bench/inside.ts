import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Lab } from "./experiment.ts";
import { type Mooring, startMooring } from "./mooring.ts";
import { until } from "./port.ts";

/** Event-loop tick with its duration and CPU time. */
export interface Tick {
  readonly millis: number;
  readonly cpuMillis: number;
}

/** Garbage of a server, by its reports. */
export interface Garbage {
  readonly collectingShare?: number;
  readonly bytes?: number;
}

/** Kind of measurements inside a server (bench/preload.ts). */
export type Kind = "tick" | "garbage";

/** Starts Mooring with measurements. @returns it, and a function that requests the next report. */
export async function startMeasured<Report extends Tick | Garbage>(
  lab: Lab,
  kind: Kind,
): Promise<Mooring & { readonly report: () => Promise<Report> }> {
  const file = join(lab.stage.folder(), "report.json");
  const mooring = await startMooring(lab, {
    nodeFlags: ["--import", new URL("preload.ts", import.meta.url).href],
    environment: { BENCH_INSIDE: kind, BENCH_FILE: file },
  });
  const report = async (): Promise<Report> => {
    rmSync(file, { force: true });
    process.kill(mooring.server.pid, "SIGUSR2");
    let text = "";
    const written = async () => {
      text = existsSync(file) ? readFileSync(file, "utf8") : "";
      return text.endsWith("}");
    };
    await until(written, () => `the server did not report its ${kind}`);
    return JSON.parse(text) as Report;
  };
  return { ...mooring, report };
}
