import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Experiment } from "../experiment.ts";
import { wrkLoad } from "../load/wrk.ts";
import { startMooring } from "../mooring.ts";
import { until } from "../port.ts";
import { decimal, percent } from "../report.ts";

const PATH = "/api/public/settings";

/** Garbage of a read, and the cost of its collection. */
export const garbage: Experiment = {
  name: "garbage",
  title: `Garbage of GET ${PATH}`,
  needs: ["wrk"],
  measure: async (lab) => {
    const file = join(lab.stage.folder(), "garbage.json");
    const { server, port } = await startMooring(lab, {
      nodeFlags: ["--import", new URL("../garbage-preload.ts", import.meta.url).href],
      environment: { BENCH_GARBAGE_FILE: file },
    });
    const load = wrkLoad(lab.stage, { port, path: PATH });
    const next = async (): Promise<Report> => {
      rmSync(file, { force: true });
      process.kill(server.pid, "SIGUSR2");
      let text = "";
      await until(
        async () => {
          text = existsSync(file) ? readFileSync(file, "utf8") : "";
          return text.endsWith("}");
        },
        () => "the server did not report its garbage",
      );
      return JSON.parse(text) as Report;
    };
    await load(lab.plan.warmUp);
    process.kill(server.pid, "SIGUSR2");
    await load(lab.plan.seconds);
    const { collectingShare = Number.NaN } = await next();
    const { requests } = await load(lab.plan.seconds);
    const { bytes = Number.NaN } = await next();
    const kilobytes = bytes / requests / 1_000;
    return {
      load: "wrk, 32 keep-alive connections; collections by perf_hooks, then allocations by V8's sampling profiler",
      columns: ["", "garbage of one read", "collecting, share of CPU time"],
      rows: [["Mooring", `${decimal(kilobytes)} kB`, percent(collectingShare)]],
      verdicts: [
        { text: "garbage of one read", value: kilobytes, unit: " kB", target: { atMost: 7 } },
        {
          text: "collecting, share of CPU time",
          value: 100 * collectingShare,
          unit: " %",
          target: { atMost: 10 },
        },
      ],
      figures: { kilobytes, collectingShare },
    };
  },
};

/** Report written by the server. */
interface Report {
  readonly collectingShare?: number;
  readonly bytes?: number;
}
