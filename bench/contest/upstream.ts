import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Contest, serverSide } from "../contest.ts";
import type { Experiment, Figures, Lab, Verdict } from "../experiment.ts";
import { wrkLoad } from "../load/wrk.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import { freePort } from "../port.ts";
import { cpuMicros } from "../proc.ts";
import { decimal } from "../report.ts";
import { LOAD_CORE, SERVER_CORE } from "../stage.ts";
import { median } from "../statistics.ts";
import { type Started, untilListening } from "../yardstick.ts";
import { wrkSide } from "./read.ts";

/** Path of a reply of some hundred bytes. */
const SMALL = "/small.json";

/** Bytes of one transfer. */
const BYTES = 200_000_000;
/** Number of measured runs, and of runs before them. */
const ROUNDS = 10;
const WARM_ROUNDS = 2;
const CORES = `${SERVER_CORE},${LOAD_CORE}`;

const directions = ["download", "upload"] as const;
type Direction = (typeof directions)[number];

/** Two transfers directly and two through Mooring. */
interface Pair {
  /** Bytes per second. */
  readonly direct: number;
  readonly through: number;
  /** CPU time of Mooring per transfer, in microseconds. */
  readonly cpu: number;
}

/** A small request forwarded to the upstream, against the same request sent directly. */
export const upstreamRequest: Contest = {
  name: "upstream",
  title: `GET ${SMALL} of nginx, directly and through Mooring in front of it`,
  load: "wrk, 32 keep-alive connections, HTTP/1.1; CPU time of Mooring and nginx together",
  needs: ["wrk", "nginx"],
  comparisons: [
    {
      of: "through Mooring",
      against: "nginx",
      measure: "cpuPerRequest",
      by: "difference",
      target: { atMost: 100 },
    },
  ],
  open: async (lab) => {
    const { nginx, mooring } = await startFronted(lab);
    const [direct, { body }] = await wrkSide(lab, "nginx", nginx.server, {
      port: nginx.port,
      path: SMALL,
    });
    const { port } = mooring;
    const load = wrkLoad(lab.stage, { port, path: SMALL });
    const options = { behind: [nginx.server], payloadBytes: body.length };
    return [serverSide("through Mooring", mooring.server, load, options), direct];
  },
};

/** Long transfers through Mooring against the same ones sent directly. */
export const upstreamTransfer: Experiment = {
  name: "upstream-transfer",
  title: "Transfers of 200 MB from and to nginx, directly and through Mooring in front of it",
  needs: ["nginx", "curl"],
  measure: async (lab) => {
    const fronted = await startFronted(lab, { cores: CORES, bytes: BYTES });
    const pairs: Record<Direction, Pair[]> = { download: [], upload: [] };
    const rounds = lab.quick ? 2 : ROUNDS;
    for (let round = -WARM_ROUNDS; round < rounds; round += 1)
      for (const direction of directions) {
        const pair = await transferBoth(lab, fronted, direction, round % 2 === 0);
        if (round >= 0) pairs[direction].push(pair);
      }
    return findingOf(pairs);
  },
  open: async (lab) => {
    const fronted = await startFronted(lab, { cores: CORES, bytes: BYTES });
    const run = async (seconds: number) => {
      const end = performance.now() + seconds * 1_000;
      let requests = 0;
      for (; performance.now() < end; requests += 2)
        for (const direction of directions)
          await transfer(lab, fronted, fronted.mooring.port, direction);
      return { requests };
    };
    return [{ server: fronted.mooring.server, run }];
  },
};

/**
 * Transfers in the order direct, through, through, direct, so that a temporary slowdown of the
 * machine affects both.
 */
async function transferBoth(
  lab: Lab,
  fronted: Fronted,
  direction: Direction,
  isDirectFirst: boolean,
): Promise<Pair> {
  const { nginx, mooring } = fronted;
  const seconds = { direct: 0, through: 0 };
  let cpu = 0;
  for (const isDirect of [isDirectFirst, !isDirectFirst, !isDirectFirst, isDirectFirst]) {
    const used = cpuMicros(mooring.server.pid);
    const port = isDirect ? nginx.port : mooring.port;
    seconds[isDirect ? "direct" : "through"] += await transfer(lab, fronted, port, direction);
    if (!isDirect) cpu += cpuMicros(mooring.server.pid) - used;
  }
  const rate = (sum: number): number => (2 * BYTES) / sum;
  return { direct: rate(seconds.direct), through: rate(seconds.through), cpu: cpu / 2 };
}

/** @returns the duration in seconds. @throws Error unless everything was transferred. */
async function transfer(
  { stage }: Lab,
  { large }: Fronted,
  port: number,
  direction: Direction,
): Promise<number> {
  const at = `http://127.0.0.1:${port}`;
  const form = "%{http_code} %{size_download} %{size_upload} %{time_total}";
  const common = ["-s", "-S", "--http1.1", "-o", "/dev/null", "-w", form];
  // Without `Expect`, which delays a body by a round trip.
  const upload = ["-H", "Expect:", "-H", "Transfer-Encoding:", "-X", "PUT"];
  const job =
    direction === "download" ? [`${at}/large`] : [...upload, "-T", large, `${at}/upload/large`];
  const output = await stage.run({ program: "curl", args: [...common, ...job], cores: CORES });
  const [status = 0, down = 0, up = 0, seconds = 0] = output.split(" ").map(Number);
  if (status >= 300 || Math.max(down, up) !== BYTES)
    throw new Error(`a ${direction} ended with status ${status} after ${down} and ${up} bytes`);
  return seconds;
}

function findingOf(pairs: Record<Direction, readonly Pair[]>): Figures {
  const verdicts = directions.map((direction): Verdict => {
    const ratios = pairs[direction].map(({ direct, through }) => through / direct);
    return {
      text: `a ${direction} through Mooring against a direct one, bytes per second, least of all runs`,
      value: Math.min(...ratios),
      unit: "×",
      lowest: Math.min(...ratios),
      highest: Math.max(...ratios),
      target: { atLeast: 0.5 },
    };
  });
  return {
    load: "curl, one transfer at a time, two direct and two through Mooring a run (A B B A); all share two cores",
    columns: ["", "direct MB/s", "through MB/s", "ratio of each run", "CPU ms of Mooring"],
    rows: directions.map((direction) => rowOf(direction, pairs[direction])),
    verdicts,
    figures: pairs,
  };
}

function rowOf(direction: Direction, pairs: readonly Pair[]): string[] {
  const middle = (of: (pair: Pair) => number): string => decimal(median(pairs.map(of)));
  return [
    direction,
    middle(({ direct }) => direct / 1e6),
    middle(({ through }) => through / 1e6),
    pairs.map(({ direct, through }) => (through / direct).toFixed(2)).join(" "),
    middle(({ cpu }) => cpu / 1_000),
  ];
}

/** Folder in memory, so that transfers are independent of the disk. */
const MEMORY = "/dev/shm";
/** nginx with its files, and Mooring in front of it. */
interface Fronted {
  readonly nginx: Started;
  readonly mooring: Mooring;
  /** File at the path `/large`. */
  readonly large: string;
}

/**
 * Starts nginx, as one process, and Mooring with it as the upstream.
 *
 * @param cores processors of both; default: the servers' core.
 * @param bytes size of the file `/large`; default: none.
 */
async function startFronted(lab: Lab, { cores = SERVER_CORE, bytes = 0 } = {}): Promise<Fronted> {
  const folder = existsSync(MEMORY) ? lab.stage.folder(MEMORY) : lab.stage.folder();
  const large = join(folder, "large");
  writeFileSync(large, Buffer.alloc(bytes, "mooring "));
  const nginx = await startNginx(lab, cores, folder);
  const environment = { MOORING_UPSTREAM: `http://127.0.0.1:${nginx.port}` };
  return { nginx, mooring: await startMooring(lab, { cores, environment }), large };
}

async function startNginx({ stage }: Lab, cores: string, folder: string): Promise<Started> {
  const port = await freePort();
  writeFileSync(join(folder, SMALL), JSON.stringify({ code: 200, data: "x".repeat(400) }));
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configurationOf(port, folder));
  const args = ["-c", file, "-p", folder, "-e", "stderr"];
  const server = stage.start({ program: "nginx", args, cores });
  await untilListening(server, port, "nginx");
  return { server, port };
}

function configurationOf(port: number, folder: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(" ");
  return `
    daemon off; master_process off; pid ${folder}/pid; error_log stderr crit;
    events { worker_connections 512; }
    http {
      access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; ${temporary}
      client_max_body_size 0;
      server {
        listen 127.0.0.1:${port}; root ${folder};
        location /upload/ { dav_methods PUT; create_full_put_path on; }
      }
    }`;
}
