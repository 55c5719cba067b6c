import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  ListSettingsRequestSchema,
  SaveSettingsRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { callGrpc, callHttp, callMethod, pathOf } from "../call.ts";
import { type Experiment, type Lab, limited, type Verdict, verdictOf } from "../experiment.ts";
import { wrkLoad } from "../load/wrk.ts";
import { addCustomSettings, customKey, type Mooring, startMooring } from "../mooring.ts";
import { until } from "../port.ts";
import { count, decimal, percent } from "../report.ts";
import { median } from "../statistics.ts";

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
async function startMeasured<Report extends Tick | Garbage>(
  lab: Lab,
  kind: Kind,
): Promise<Mooring & { readonly report: () => Promise<Report> }> {
  const file = join(lab.stage.folder(), "report.json");
  const mooring = await startMooring(lab, {
    nodeFlags: ["--import", new URL("../preload.ts", import.meta.url).href],
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
        limited("garbage of one read", kilobytes, " kB", 7),
        limited("collecting, share of CPU time", 100 * collectingShare, " %", 10),
      ],
      figures: { kilobytes, collectingShare },
    };
  },
};

const SETTINGS = 10_000;
/** Permitted delay of other clients by one call, in milliseconds. */
const LONGEST = 30;
const TIMES = 9;
const QUICK_TIMES = 2;

interface Doing {
  readonly name: string;
  run(mooring: Mooring): Promise<void>;
}

/** Each list is requested after a change, so that no part of it is cached. */
const doings: readonly Doing[] = [
  { name: "nothing (the machine's own noise)", run: async () => void (await sleep(100)) },
  { name: "save of one setting", run: (mooring) => save(mooring) },
  { name: "list of all over REST, after a change", run: (mooring) => listRest(mooring) },
  { name: "the same, compressed", run: (mooring) => listRest(mooring, "br, gzip") },
  { name: "list of all over gRPC, after a change", run: (mooring) => listGrpc(mooring) },
];

/** Delay of other clients while a long list is requested. */
export const longestTurn: Experiment = {
  name: "turn",
  title: `Longest tick of the event loop with ${count(SETTINGS)} settings`,
  needs: [],
  measure: async (lab) => {
    const mooring = await startMeasured<Tick>(lab, "tick");
    await addCustomSettings(mooring, SETTINGS);
    const turns = await measureTurns(lab, mooring);
    return {
      load: "one call at a time; the longest turn of each, as perf_hooks sees it inside the server",
      columns: ["", "median ms", "most ms", "median CPU ms", "most CPU ms"],
      rows: turns.map(({ name, each }) => [
        name,
        ...measures.flatMap((measure) => {
          const values = each.map((turn) => turn[measure]);
          return [decimal(median(values)), decimal(Math.max(...values))];
        }),
      ]),
      verdicts: turns.slice(1).flatMap((turn) => verdictsOf(turn)),
      notes: [
        "a tick is measured in wall time, during which threads of the garbage collector and of the compression may use the one core; CPU is the time of the event loop thread alone",
      ],
      figures: turns,
    };
  },
};

interface Turns {
  readonly name: string;
  readonly each: readonly Tick[];
}

const measures = ["millis", "cpuMillis"] as const;

/** Verdicts on the median duration, and on the maximum CPU time. */
function verdictsOf({ name, each }: Turns): Verdict[] {
  const target = { atMost: LONGEST };
  const cpu = Math.max(...each.map(({ cpuMillis }) => cpuMillis));
  return [
    verdictOf(
      name,
      each.map(({ millis }) => millis),
      " ms",
      target,
    ),
    { text: `${name}, the most CPU time of one turn`, value: cpu, unit: " ms", target },
  ];
}

async function measureTurns(lab: Lab, mooring: Measured): Promise<Turns[]> {
  const turns: Turns[] = [];
  const times = lab.quick ? QUICK_TIMES : TIMES;
  for (const { name, run } of doings) {
    const each: Tick[] = [];
    // The first two runs let V8 compile the code.
    for (let time = -2; time < times; time++) {
      if (name !== doings[0]?.name) await save(mooring);
      await readTick(mooring);
      await run(mooring);
      const turn = await readTick(mooring);
      if (time >= 0) each.push(turn);
    }
    turns.push({ name, each });
  }
  return turns;
}

/** Reads the longest tick since the last call. */
async function readTick({ report }: Measured): Promise<Tick> {
  // Background work of the call is included.
  await sleep(50);
  const { millis, cpuMillis } = await report();
  return { millis: Math.max(0, millis), cpuMillis };
}

type Measured = Awaited<ReturnType<typeof startMeasured<Tick>>>;

let saves = 0;

async function save(mooring: Mooring): Promise<void> {
  const settings = [{ key: customKey(7), value: `changed ${saves++}` }];
  const request = create(SaveSettingsRequestSchema, { settings });
  await callMethod(SettingService.method.saveSettings, request, mooring);
}

async function listRest({ port, token }: Mooring, coding = "identity"): Promise<void> {
  const headers = { Authorization: token, "Accept-Encoding": coding };
  const { status } = await callHttp({ port, path: "/api/admin/setting/list", headers });
  if (status !== 200) throw new Error(`the list came with status ${status}`);
}

async function listGrpc({ port, token }: Mooring): Promise<void> {
  const body = toBinary(ListSettingsRequestSchema, create(ListSettingsRequestSchema));
  await callGrpc({ port, token, body, path: pathOf(SettingService.method.listSettings) });
}
