import { get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type StandIn, startStandIn } from "../../test/sites/stand-in.ts";
import type { Experiment, Finding } from "../finding.ts";
import { decimal } from "../format.ts";
import type { Lab } from "../lab.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import { until } from "../port.ts";
import { cpuMicros, ownCpuMicros } from "../proc.ts";
import { LOAD_CORE } from "../stage.ts";
import { median, quantile } from "../statistics.ts";
import type { CrowdSite } from "./site-crowd.ts";

/** Saves that are timed, and sites that follow at once. */
const SAVES = 200;
const SITES = 100;
/** Saves that every site is told of, those that nothing is measured of, and the time in between in milliseconds. */
const ROUNDS = 10;
const WARM_ROUNDS = 3;
const SETTLED = 300;
const CROWD = fileURLToPath(new URL("site-crowd.ts", import.meta.url));

/** A save of one value with nobody behind, at the server behind before its reply, and at many. */
export const siteSave: Experiment = {
  name: "site-save",
  title: "A save of one value, alone, in front of a server, and with 100 servers that follow",
  needs: [],
  measure: async (lab) => {
    const behind = await startStandIn();
    try {
      const alone = await startMooring(lab);
      const aloneTimes = await timeSaves(alone, "alone");
      await alone.server.stop();
      const front = await startMooring(lab, { environment: frontOf(behind) });
      await untilFollowed(front, behind);
      const frontTimes = await timeSaves(front, "front");
      await front.server.stop();
      return findingOf({ aloneTimes, frontTimes, ...(await tellMany(lab)) });
    } finally {
      await behind.stop();
    }
  },
};

/** What it takes to tell many sites of a save. */
async function tellMany(lab: Lab): Promise<Told> {
  const crowd = lab.stage.converse({
    program: process.execPath,
    args: [...lab.nodeFlags, CROWD, String(SITES)],
    cores: LOAD_CORE,
  });
  const sites = JSON.parse(await crowd.ask()) as CrowdSite[];
  const mooring = await startMooring(lab);
  for (const [at, site] of sites.entries()) await follow(mooring, site, `site-${at}`);
  const told: Told = { lags: [], reads: [], idleReads: [], cpu: [] };
  for (let round = -WARM_ROUNDS; round < ROUNDS; round += 1) {
    const title = `everywhere ${round}`;
    const used = ownCpuMicros(mooring.server.pid);
    const began = Date.now();
    await save(mooring, title);
    const last = Number(await crowd.ask(title));
    // What is read back and written down comes after.
    await sleep(SETTLED);
    if (round < 0) continue;
    told.lags.push(last - began);
    told.cpu.push((ownCpuMicros(mooring.server.pid) - used) / SITES / 1_000);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    told.idleReads.push(await timeRead(mooring));
    const title = `while it is read ${round}`;
    await save(mooring, title);
    const over = crowd.ask(title);
    told.reads.push(await timeRead(mooring));
    await over;
    await sleep(SETTLED);
  }
  await mooring.server.stop();
  await crowd.stop();
  return told;
}

interface Told {
  readonly lags: number[];
  readonly reads: number[];
  readonly idleReads: number[];
  /** Of the service, for each site and save, in milliseconds. */
  readonly cpu: number[];
}

interface Figures extends Told {
  readonly aloneTimes: Timed;
  readonly frontTimes: Timed;
}

function findingOf({ aloneTimes, frontTimes, lags, reads, idleReads, cpu }: Figures): Finding {
  const row = (name: string, times: readonly number[]) => [
    name,
    ...[median(times), quantile(times, 0.99)].map(decimal),
  ];
  return {
    name: siteSave.name,
    title: siteSave.title,
    load: `${SAVES} saves one after the other; ${ROUNDS} saves to ${SITES} sites, which are in a process of their own`,
    columns: ["", "median ms", "99 % ms"],
    rows: [
      row("save alone", aloneTimes.times),
      row("save, at the server behind", frontTimes.times),
      row(`until the last of ${SITES} sites has it`, lags),
      row("public settings meanwhile", reads),
      row("public settings before", idleReads),
      row("CPU of the service for each site that is told", cpu),
    ],
    verdicts: [
      {
        text: "a save in front of a server against a save alone",
        value: median(frontTimes.times) / median(aloneTimes.times),
        unit: "×",
        target: { atMost: 4 },
      },
      {
        text: "saves that were at the server before the reply",
        value: (100 * frontTimes.applied) / SAVES,
        unit: "%",
        target: { atLeast: 99 },
      },
      {
        text: `the last of ${SITES} sites told after a save`,
        value: Math.max(...lags) / 1_000,
        unit: "s",
        target: { atMost: 1 },
      },
      {
        text: `reads while ${SITES} sites are told against reads before`,
        value: median(reads) / median(idleReads),
        unit: "×",
        target: { atMost: 1.3 },
      },
    ],
    notes: [
      "All sites answer from one process on the core of the load, which the reads come from, too.",
    ],
    figures: { aloneTimes, frontTimes, lags, reads, idleReads, cpu },
  };
}

/** What passing through costs. */
export const sitePass: Experiment = {
  name: "site-pass",
  title: "Passing requests to the server behind: CPU of small replies, rate of large ones",
  needs: [],
  measure: async (lab) => {
    const site = await startStandIn();
    try {
      const front = await startMooring(lab, { environment: frontOf(site) });
      await untilFollowed(front, site);
      const small = await cpuOfSmall(front);
      const size = lab.quick ? 200_000_000 : 1_000_000_000;
      const straight = await rate(site.port, size);
      const through = await rate(front.port, size);
      await front.server.stop();
      return {
        name: sitePass.name,
        title: sitePass.title,
        load: "one client, 2,000 small replies, 16 at a time; one download",
        columns: ["", "value"],
        rows: [
          ["CPU of the front for a small reply, ms", decimal(small)],
          ["straight, MB/s", decimal(straight)],
          ["through the front, MB/s", decimal(through)],
        ],
        verdicts: [
          { text: "CPU for a small reply", value: small, unit: "ms", target: { atMost: 0.3 } },
          {
            text: "through the front against straight",
            value: through / straight,
            unit: "×",
            target: { atLeast: 0.3 },
          },
        ],
        notes: [],
        figures: { small, straight, through },
      };
    } finally {
      await site.stop();
    }
  },
};

function frontOf(site: StandIn): Record<string, string> {
  return { MOORING_UPSTREAM: site.url, MOORING_UPSTREAM_TOKEN: site.token() };
}

async function call({ port, token }: Mooring, path: string, body?: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: token, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function save(mooring: Mooring, title: string): Promise<boolean> {
  const body = [{ key: "site_title", value: title }];
  const reply = await call(mooring, "/api/admin/setting/save", body);
  await reply.arrayBuffer();
  return reply.headers.get("mooring-upstream") === "applied";
}

interface Timed {
  readonly times: readonly number[];
  readonly applied: number;
}

async function timeSaves(mooring: Mooring, word: string): Promise<Timed> {
  const times: number[] = [];
  let applied = 0;
  for (let at = -20; at < SAVES; at += 1) {
    const began = performance.now();
    const isThere = await save(mooring, `${word} ${at}`);
    if (at < 0) continue;
    times.push(performance.now() - began);
    if (isThere) applied += 1;
  }
  return { times, applied };
}

async function timeRead(mooring: Mooring): Promise<number> {
  const began = performance.now();
  for (let at = 0; at < 20; at += 1)
    await (await call(mooring, "/api/public/settings")).arrayBuffer();
  return (performance.now() - began) / 20;
}

async function untilFollowed(mooring: Mooring, site: StandIn): Promise<void> {
  const isThere = async () =>
    (await save(mooring, `met ${performance.now()}`)) && site.saves.length > 0;
  await until(isThere, () => "the front does not follow");
}

async function follow(mooring: Mooring, site: CrowdSite, name: string): Promise<void> {
  const made = { name, ...site };
  await (await call(mooring, "/api/admin/site/create", made)).arrayBuffer();
  await (await call(mooring, "/api/admin/site/sync", { name })).arrayBuffer();
  const mode = { mode: "SITE_MODE_FOLLOW" };
  await (await call(mooring, `/api/admin/site/update?name=${name}`, mode)).arrayBuffer();
}

async function cpuOfSmall(mooring: Mooring): Promise<number> {
  const count = 2_000;
  const pid = mooring.server.pid;
  const ask = async () => (await call(mooring, "/d/hello.txt")).arrayBuffer();
  const askMany = async (times: number): Promise<void> => {
    // Several at a time: what the process does by the clock counts less then.
    for (let at = 0; at < times; at += 16) await Promise.all(Array.from({ length: 16 }, ask));
  };
  // Long enough for the code to be compiled.
  await askMany(2 * count);
  const began = cpuMicros(pid);
  await askMany(count);
  return (cpuMicros(pid) - began) / count / 1_000;
}

/** Megabytes a second of one download. */
async function rate(port: number, size: number): Promise<number> {
  const began = performance.now();
  await new Promise<void>((resolve, reject) => {
    get({ host: "127.0.0.1", port, path: `/d/big/${size}` }, (reply) => {
      reply.on("error", reject).on("end", resolve).resume();
    }).on("error", reject);
  });
  return size / 1_000 / (performance.now() - began);
}
