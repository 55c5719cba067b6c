import { startStandIn } from "../../test/sites/stand-in.ts";
import { type Experiment, limited } from "../experiment.ts";
import { callAdmin, type Mooring, startMooring } from "../mooring.ts";
import { until } from "../port.ts";
import { decimal } from "../report.ts";
import { median, quantile } from "../statistics.ts";

const SAVES = 200;

/** A save alone, and in front of a server, which has the value before the reply. */
export const frontSave: Experiment = {
  name: "front-save",
  title: "A save of one value, alone and in front of a server, which has it before the reply",
  needs: [],
  measure: async (lab) => {
    const upstream = await startStandIn();
    try {
      const alone = await timeSaves(await startMooring(lab));
      const environment = {
        MOORING_UPSTREAM: upstream.url,
        MOORING_UPSTREAM_TOKEN: upstream.token(),
      };
      const fronted = await startMooring(lab, { environment });
      await until(
        // The server answers, and refuses the token, until Mooring knows it.
        () => save(fronted).catch(() => false),
        () => "the front does not follow",
      );
      const front = await timeSaves(fronted);
      const row = (name: string, { times }: Timed) => [
        name,
        ...[median(times), quantile(times, 0.99)].map(decimal),
      ];
      return {
        load: `${SAVES} saves one after the other`,
        columns: ["", "median ms", "99 % ms"],
        rows: [row("alone", alone), row("in front of a server", front)],
        verdicts: [
          limited(
            "a save in front of a server against a save alone",
            median(front.times) / median(alone.times),
            "×",
            4,
          ),
          {
            text: "saves that were at the server before the reply",
            value: (100 * front.applied) / SAVES,
            unit: "%",
            target: { atLeast: 99 },
          },
        ],
      };
    } finally {
      await upstream.stop();
    }
  },
};

interface Timed {
  readonly times: readonly number[];
  /** Number of saves that were at the server before the reply. */
  readonly applied: number;
}

async function timeSaves(mooring: Mooring): Promise<Timed> {
  for (let warmUp = 0; warmUp < 20; warmUp += 1) await save(mooring);
  const times: number[] = [];
  let applied = 0;
  for (let at = 0; at < SAVES; at += 1) {
    const began = performance.now();
    if (await save(mooring)) applied += 1;
    times.push(performance.now() - began);
  }
  return { times, applied };
}

/** Saves another value. @returns whether the server had it before the reply. */
async function save(mooring: Mooring): Promise<boolean> {
  const body = [{ key: "site_title", value: `saved at ${performance.now()}` }];
  const { headers } = await callAdmin(mooring, "/api/admin/setting/save", body);
  return headers.get("mooring-upstream") === "applied";
}
