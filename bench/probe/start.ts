import type { Experiment, Verdict } from "../finding.ts";
import { decimal } from "../format.ts";
import { callHttp } from "../http-call.ts";
import type { Lab } from "../lab.ts";
import { launchMooring, startMooring } from "../mooring.ts";
import { SOURCE } from "../package.ts";
import { accepts, until } from "../port.ts";
import { median, ratioOf } from "../statistics.ts";
import { launchYardstick, type Started, type Yardstick } from "../yardstick.ts";

const SETTINGS = "/api/public/settings";

interface Starter {
  readonly name: string;
  readonly path: string;
  launch(): Promise<Started>;
}

/** From the start of the process to its first reply, with everything in the page cache. */
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
      name: startTime.name,
      title: startTime.title,
      load: `${lab.plan.starts} starts of each by turns; asked every millisecond until it answers`,
      columns: ["", "median ms", "least ms", "most ms"],
      rows: series.map(({ name, times: each }) => [
        name,
        ...[median(each), Math.min(...each), Math.max(...each)].map(decimal),
      ]),
      verdicts: series.slice(1).map((each) => against(each, series[0])),
      notes: [],
      figures: series,
    };
  },
};

interface Series {
  readonly name: string;
  readonly times: readonly number[];
}

function against({ name, times }: Series, empty?: Series): Verdict {
  const { median: value, ...range } = ratioOf(times, empty?.times ?? []);
  const text = `${name} against an empty Fastify server`;
  const own = name.startsWith("Mooring,");
  return { text, value, unit: "×", ...range, ...(own ? { target: { atMost: 2 } } : {}) };
}

async function prepare(lab: Lab): Promise<Starter[]> {
  const folder = lab.stage.folder();
  const first = await startMooring(lab, { folder });
  await first.server.stop();
  const empty = (name: Yardstick) => () => launchYardstick(lab.stage, name);
  const mooring = () => launchMooring(lab, { folder });
  const fromSource = () => launchMooring({ ...lab, server: SOURCE }, { folder });
  return [
    { name: "empty Fastify", path: "/ping", launch: empty("empty-fastify.mjs") },
    { name: "Mooring, /ping", path: "/ping", launch: mooring },
    { name: "Mooring, settings", path: SETTINGS, launch: mooring },
    ...(lab.quick
      ? []
      : [
          { name: "Mooring from source, settings", path: SETTINGS, launch: fromSource },
          { name: "Fastify in TypeScript", path: "/ping", launch: empty("empty-fastify.ts") },
        ]),
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
