import type { Experiment } from "../experiment.ts";
import { type Garbage, startMeasured } from "../inside.ts";
import { wrkLoad } from "../load/wrk.ts";
import { decimal, percent } from "../report.ts";

const PATH = "/api/public/settings";

/** Garbage of a read, and the cost of its collection. */
export const garbage: Experiment = {
  name: "garbage",
  title: `Garbage of GET ${PATH}`,
  needs: ["wrk"],
  measure: async (lab) => {
    const { port, report } = await startMeasured<Garbage>(lab, "garbage");
    const load = wrkLoad(lab.stage, { port, path: PATH });
    await load(lab.plan.warmUp);
    await report();
    await load(lab.plan.seconds);
    const { collectingShare = Number.NaN } = await report();
    const { requests } = await load(lab.plan.seconds);
    const { bytes = Number.NaN } = await report();
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
