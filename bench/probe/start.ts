import type { Experiment, Lab } from "../experiment.ts";
import { verdictOf } from "../experiment.ts";
import { launchMooring, startMooring, succeeds } from "../mooring.ts";
import { until } from "../port.ts";
import { decimal } from "../report.ts";
import { median, ratiosOf } from "../statistics.ts";
import { launchYardstick, type Started } from "../yardstick.ts";

interface Starter {
  readonly name: string;
  readonly path: string;
  launch(): Promise<Started>;
  /** Times from the start of the process to the first reply, in milliseconds. */
  readonly times: number[];
}

/** Time from the start of the process to its first reply, with a warm page cache. */
export const startTime: Experiment = {
  name: "start",
  title: "Start to first reply, warm disk, existing database",
  needs: [],
  measure: async (lab) => {
    const { empty, ping, settings } = await prepare(lab);
    const starters = [empty, ping, settings];
    // The first round only warms the disk's cache.
    for (let round = 0; round <= lab.plan.times; round += 1)
      for (const starter of starters) {
        const time = await timeToReply(starter);
        if (round > 0) starter.times.push(time);
      }
    const against = ({ name, times }: Starter, atMost: number) =>
      verdictOf(`${name} against an empty Fastify server`, ratiosOf(times, empty.times), "×", {
        atMost,
      });
    return {
      load: `${lab.plan.times} starts of each by turns; asked every millisecond until it answers`,
      columns: ["", "median ms", "least ms", "most ms"],
      rows: starters.map(({ name, times }) => [
        name,
        ...[median(times), Math.min(...times), Math.max(...times)].map(decimal),
      ]),
      verdicts: [against(ping, 1), against(settings, 1.6)],
    };
  },
};

async function prepare(lab: Lab) {
  const folder = lab.stage.folder();
  const first = await startMooring(lab, { folder });
  await first.server.stop();
  const starter = (name: string, path: string, launch: () => Promise<Started>): Starter => ({
    name,
    path,
    launch,
    times: [],
  });
  const mooring = () => launchMooring(lab, { folder });
  return {
    empty: starter("empty Fastify", "/ping", () => launchYardstick(lab.stage, "empty-fastify.mjs")),
    ping: starter("Mooring, /ping", "/ping", mooring),
    settings: starter("Mooring, settings", "/api/public/settings", mooring),
  };
}

async function timeToReply({ launch, name, path }: Starter): Promise<number> {
  const began = performance.now();
  const { server, port } = await launch();
  const replies = () => {
    server.assertAlive();
    return succeeds({ port, path });
  };
  await until(replies, () => `${name} does not answer:\n${server.tail()}`, { interval: 1 });
  const time = performance.now() - began;
  await server.stop();
  return time;
}
