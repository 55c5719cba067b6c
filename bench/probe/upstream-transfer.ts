import type { Experiment, Finding, Verdict } from "../finding.ts";
import { decimal } from "../format.ts";
import type { Lab } from "../lab.ts";
import { type Fronted, startFronted } from "../nginx.ts";
import { cpuMicros } from "../proc.ts";
import { LOAD_CORE, SERVER_CORE } from "../stage.ts";
import { median } from "../statistics.ts";

/** Bytes of one transfer. */
const BYTES = 200_000_000;
/** Runs that count, and the ones before them. */
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
  /** CPU time of Mooring for one of them, in microseconds. */
  readonly cpu: number;
}

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
 * Direct, through, through, direct, so that what slows the machine down for a while slows both, and the
 * other way round.
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

/** @returns its seconds. @throws Error unless everything was transferred. */
async function transfer(
  { stage }: Lab,
  { large }: Fronted,
  port: number,
  direction: Direction,
): Promise<number> {
  const at = `http://127.0.0.1:${port}`;
  const form = "%{http_code} %{size_download} %{size_upload} %{time_total}";
  const common = ["-s", "-S", "--http1.1", "-o", "/dev/null", "-w", form];
  // Without `Expect`, which holds a body up for a round trip.
  const upload = ["-H", "Expect:", "-H", "Transfer-Encoding:", "-X", "PUT"];
  const job =
    direction === "download" ? [`${at}/large`] : [...upload, "-T", large, `${at}/upload/large`];
  const output = await stage.run({ program: "curl", args: [...common, ...job], cores: CORES });
  const [status = 0, down = 0, up = 0, seconds = 0] = output.split(" ").map(Number);
  if (status >= 300 || Math.max(down, up) !== BYTES)
    throw new Error(`a ${direction} ended with status ${status} after ${down} and ${up} bytes`);
  return seconds;
}

function findingOf(pairs: Record<Direction, readonly Pair[]>): Finding {
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
    name: upstreamTransfer.name,
    title: upstreamTransfer.title,
    load: "curl, one transfer at a time, two direct and two through Mooring a run (A B B A); all share two cores",
    columns: ["", "direct MB/s", "through MB/s", "ratio of each run", "CPU ms of Mooring"],
    rows: directions.map((direction) => rowOf(direction, pairs[direction])),
    verdicts,
    notes: [],
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
