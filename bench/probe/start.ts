import { callHttp } from "../call.ts";
import { type Experiment, type Lab, verdictOf } from "../experiment.ts";
import { launchMooring, startMooring } from "../mooring.ts";
import { accepts, until } from "../port.ts";
import { decimal } from "../report.ts";
import { median, ratiosOf } from "../statistics.ts";
import { launchYardstick, type Started } from "../yardstick.ts";

const SETTINGS = "/api/public/settings";

interface Starter {
  readonly name: string;
  readonly path: string;
  launch(): Promise<Started>;
}

/** Time from the start of the process to its first reply, with a warm page cache. */
export const startTime: Experiment = {
  name: "start",
  title: "Start to first reply, warm disk, existing database",
  needs: [],
  measure: async (lab) => {
    const starters = await prepare(lab);
    const times = new Map<Starter, number[]>(starters.map((starter) => [starter, []]));
    for (let round = 0; round <= lab.plan.starts; round++)
      for (const starter of starters) {
        const time = await timeToReply(starter);
        // The first round only warms the disk's cache.
        if (round > 0) times.get(starter)?.push(time);
      }
    const series = starters.map(({ name }, at) => ({ name, times: [...times.values()][at] ?? [] }));
    return {
      load: `${lab.plan.starts} starts of each by turns; asked every millisecond until it answers`,
      columns: ["", "median ms", "least ms", "most ms"],
      rows: series.map(({ name, times: each }) => [
        name,
        ...[median(each), Math.min(...each), Math.max(...each)].map(decimal),
      ]),
      verdicts: series.slice(1).map(({ name, times: each }) => {
        const ratios = ratiosOf(each, series[0]?.times ?? []);
        return verdictOf(`${name} against an empty Fastify server`, ratios, "×", { atMost: 2 });
      }),
      figures: series,
    };
  },
};

async function prepare(lab: Lab): Promise<Starter[]> {
  const folder = lab.stage.folder();
  const first = await startMooring(lab, { folder });
  await first.server.stop();
  const empty = () => launchYardstick(lab.stage, "empty-fastify.mjs");
  const mooring = () => launchMooring(lab, { folder });
  return [
    { name: "empty Fastify", path: "/ping", launch: empty },
    { name: "Mooring, /ping", path: "/ping", launch: mooring },
    { name: "Mooring, settings", path: SETTINGS, launch: mooring },
  ];
}

/** Milliseconds from the start to a reply with status 200. */
async function timeToReply({ launch, name, path }: Starter): Promise<number> {
  const began = performance.now();
  const { server, port } = await launch();
  const replies = async () => {
    server.assertAlive();
    return (await accepts(port)) && (await succeeds(port, path));
  };
  await until(replies, () => `${name} does not answer:\n${server.tail()}`, { interval: 1 });
  const time = performance.now() - began;
  await server.stop();
  return time;
}

async function succeeds(port: number, path: string): Promise<boolean> {
  try {
    return (await callHttp({ port, path })).status === 200;
  } catch {
    return false;
  }
}
