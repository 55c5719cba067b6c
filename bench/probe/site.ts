import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type StandIn, startStandIn } from "../../test/sites/stand-in.ts";
import { type Experiment, type Figures, type Lab, limited } from "../experiment.ts";
import { callAdmin, followSite, type Mooring, startMooring } from "../mooring.ts";
import { until } from "../port.ts";
import { ownCpuMicros } from "../proc.ts";
import { decimal } from "../report.ts";
import { LOAD_CORE } from "../stage.ts";
import { median, quantile } from "../statistics.ts";
import type { Brought, CrowdSite } from "./crowd.ts";

/** Number of measured saves, and of concurrently following sites. */
const SAVES = 200;
const SITES = 100;
/**
 * Number of saves that are pushed to every site, of saves before them, and the pause in
 * milliseconds.
 */
const ROUNDS = 10;
const WARM_ROUNDS = 3;
const SETTLED = 300;
const CROWD = fileURLToPath(new URL("crowd.ts", import.meta.url));

/** Save of one value: without sites, to the upstream before the reply, and to many sites. */
export const siteSave: Experiment = {
  name: "site-save",
  title: "A save of one value, alone, in front of a server, and with 100 servers that follow",
  needs: [],
  measure: async (lab) => {
    const upstream = await startStandIn();
    try {
      const alone = await startMooring(lab);
      const aloneTimes = await timeSaves(alone, "alone");
      await alone.server.stop();
      const front = await startMooring(lab, { environment: frontOf(upstream) });
      await untilFollowed(front, upstream);
      const frontTimes = await timeSaves(front, "front");
      await front.server.stop();
      return findingOf({ aloneTimes, frontTimes, ...(await tellMany(lab)) });
    } finally {
      await upstream.stop();
    }
  },
};

/** Time and CPU time for pushing a save to many sites. */
async function tellMany(lab: Lab): Promise<Measured> {
  const crowd = lab.stage.converse({
    program: process.execPath,
    args: [...lab.nodeFlags, CROWD, String(SITES), "settings"],
    cores: LOAD_CORE,
  });
  const sites = JSON.parse(await crowd.ask()) as CrowdSite[];
  const mooring = await startMooring(lab);
  for (const [at, site] of sites.entries())
    await followSite(mooring, { name: `site-${at}`, ...site });
  const measured: Measured = { lags: [], reads: [], idleReads: [], cpu: [] };
  for (let round = -WARM_ROUNDS; round < ROUNDS; round += 1) {
    const title = `everywhere ${round}`;
    const used = ownCpuMicros(mooring.server.pid);
    const began = Date.now();
    await save(mooring, title);
    const { time } = JSON.parse(await crowd.ask(title)) as Brought;
    // Time for reading back and storing states.
    await sleep(SETTLED);
    if (round < 0) continue;
    measured.lags.push(time - began);
    measured.cpu.push((ownCpuMicros(mooring.server.pid) - used) / SITES / 1_000);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    measured.idleReads.push(await timeRead(mooring));
    const title = `while it is read ${round}`;
    await save(mooring, title);
    const over = crowd.ask(title);
    measured.reads.push(await timeRead(mooring));
    await over;
    await sleep(SETTLED);
  }
  await mooring.server.stop();
  await crowd.stop();
  return measured;
}

interface Measured {
  readonly lags: number[];
  readonly reads: number[];
  readonly idleReads: number[];
  /** CPU time of the service per site and save, in milliseconds. */
  readonly cpu: number[];
}

interface AllTimes extends Measured {
  readonly aloneTimes: Timed;
  readonly frontTimes: Timed;
}

function findingOf({ aloneTimes, frontTimes, lags, reads, idleReads, cpu }: AllTimes): Figures {
  const row = (name: string, times: readonly number[]) => [
    name,
    ...[median(times), quantile(times, 0.99)].map(decimal),
  ];
  return {
    load: `${SAVES} saves one after the other; ${ROUNDS} saves to ${SITES} sites, which are in a process of their own`,
    columns: ["", "median ms", "99 % ms"],
    rows: [
      row("save alone", aloneTimes.times),
      row("save, in front of a server", frontTimes.times),
      row(`until the last of ${SITES} sites has it`, lags),
      row("public settings during the push", reads),
      row("public settings before", idleReads),
      row("CPU of the service per site and save", cpu),
    ],
    verdicts: [
      limited(
        "a save in front of a server against a save alone",
        median(frontTimes.times) / median(aloneTimes.times),
        "×",
        4,
      ),
      {
        text: "saves that were at the server before the reply",
        value: (100 * frontTimes.applied) / SAVES,
        unit: "%",
        target: { atLeast: 99 },
      },
      limited(`the last of ${SITES} sites told after a save`, Math.max(...lags) / 1_000, "s", 1),
      limited(
        `reads while ${SITES} sites are told against reads before`,
        median(reads) / median(idleReads),
        "×",
        1.3,
      ),
    ],
    notes: [
      "All sites answer from one process on the core of the load, which also sends the reads.",
    ],
    figures: { aloneTimes, frontTimes, lags, reads, idleReads, cpu },
  };
}

function frontOf(site: StandIn): Record<string, string> {
  return { MOORING_UPSTREAM: site.url, MOORING_UPSTREAM_TOKEN: site.token() };
}

async function save(mooring: Mooring, title: string): Promise<boolean> {
  const body = [{ key: "site_title", value: title }];
  const { headers } = await callAdmin(mooring, "/api/admin/setting/save", body);
  return headers.get("mooring-upstream") === "applied";
}

interface Timed {
  readonly times: readonly number[];
  readonly applied: number;
}

async function timeSaves(mooring: Mooring, prefix: string): Promise<Timed> {
  const times: number[] = [];
  let applied = 0;
  for (let at = -20; at < SAVES; at += 1) {
    const began = performance.now();
    const isThere = await save(mooring, `${prefix} ${at}`);
    if (at < 0) continue;
    times.push(performance.now() - began);
    if (isThere) applied += 1;
  }
  return { times, applied };
}

async function timeRead(mooring: Mooring): Promise<number> {
  const began = performance.now();
  for (let at = 0; at < 20; at += 1) await callAdmin(mooring, "/api/public/settings");
  return (performance.now() - began) / 20;
}

async function untilFollowed(mooring: Mooring, site: StandIn): Promise<void> {
  const isThere = async () =>
    (await save(mooring, `met ${performance.now()}`)) && site.saves.length > 0;
  await until(isThere, () => "the front does not follow");
}
