import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Experiment, type Lab, limited } from "../experiment.ts";
import { callAdmin, followSite, startMooring } from "../mooring.ts";
import { timeRead } from "../read-time.ts";
import { type Conversation, LOAD_CORE, SERVER_CORE } from "../stage.ts";
import { median, quantile } from "../statistics.ts";
import type { Brought } from "./crowd.ts";
import type { FollowTask } from "./mount-follow.ts";

const CROWD = fileURLToPath(new URL("crowd.ts", import.meta.url));
const FOLLOW = fileURLToPath(new URL("mount-follow.ts", import.meta.url));
/** Number of measured changes of one mount. */
const CHANGES = 20;
/** Number of idle rounds per site. */
const IDLE = 3;

/** Pushes of mounts to stand-ins: one change, a whole server, and many servers. */
export const mountFollow: Experiment = {
  name: "mounts",
  title: "Mounts on servers: one change, a clone of a server, and 100 servers with 20 each",
  needs: [],
  measure: async (lab) => {
    const one = await open(lab, 1);
    const clone = await bring(one, 200, 200, 1);
    const changes: number[] = [];
    for (let turn = 2; turn < 2 + CHANGES; turn += 1)
      changes.push((await bring(one, 200, 1, turn)).ms);
    const memory = Number(await one.follow.ask("memory"));
    await close(one);
    const many = await open(lab, 100);
    await many.follow.ask("delay");
    await sleep(1_000);
    const idleDelay = Number(await many.follow.ask("delay"));
    const crowd = await bring(many, 20, 20, 1);
    const busyDelay = Number(await many.follow.ask("delay"));
    // Waits for requested rounds, which are not idle.
    await many.follow.ask("rest 1");
    await many.crowd.ask("20 1");
    await many.follow.ask(`rest ${IDLE}`);
    const idle = JSON.parse(await many.crowd.ask("20 1")) as Brought;
    await close(many);
    const between = await callsBetween(lab);
    const calls = Object.entries(idle.calls).toSorted(([, a], [, b]) => b - a);
    const idleCalls = calls.reduce((sum, [, count]) => sum + count, 0) / (100 * IDLE);
    const change = median(changes);
    return {
      load: "Stand-ins of servers in one process, the part that follows mounts in another one with an SQLite file",
      columns: ["", "milliseconds"],
      rows: [
        ["one change of 200 mounts, median", change.toFixed(1)],
        ["200 mounts to one server", clone.ms.toFixed(0)],
        ["20 mounts to each of 100 servers", crowd.ms.toFixed(0)],
        ["event loop's delay, 99 %, idle", idleDelay.toFixed(2)],
        ["the same during the push", busyDelay.toFixed(2)],
        ["the whole program: 20 mounts to each of 100 servers", between.ms.toFixed(0)],
        ["a call to it, 99 %, idle", between.idle.toFixed(2)],
        [`the same during the push (${between.calls} calls)`, between.busy.toFixed(2)],
      ],
      verdicts: [
        limited("one change", change, " ms", 1_000),
        limited("a clone of 200 mounts", clone.ms / 1e3, " s", 30),
        limited("100 servers × 20", crowd.ms / 1e3, " s", 60),
        limited("10,000 mounts in memory", memory / 1e6, " MB", 60),
        limited("calls in between, 99 %, against idle", between.busy / between.idle, " ×", 5),
        limited("calls of an idle round", idleCalls, "", 1),
      ],
      notes: [
        "A stand-in mounts without delay. The last three rows are of the packaged program: one client reads a setting, one call after the other, before and during the push.",
        `Calls of ${100 * IDLE} idle rounds: ${calls.map(([call, count]) => `${count} × ${call}`).join(", ")}.`,
      ],
      figures: { changes, clone, crowd, idleDelay, busyDelay, memory, idle, between },
    };
  },
};

/** Number of sites and mounts of the whole program, and of measured idle calls. */
const SITES = 100;
const MOUNTS = 20;
const IDLE_CALLS = 2_000;

/** Measures calls to the whole program before and during a push of mounts to many servers. */
async function callsBetween(lab: Lab): Promise<{
  readonly ms: number;
  readonly calls: number;
  readonly idle: number;
  readonly busy: number;
}> {
  const crowd = lab.stage.converse({
    program: process.execPath,
    args: [CROWD, String(SITES), "whole"],
    cores: LOAD_CORE,
  });
  const sites = JSON.parse(await crowd.ask()) as FollowTask["sites"];
  const mooring = await startMooring(lab);
  for (const [at, site] of sites.entries())
    await followSite(mooring, { name: `site-${at}`, ...site });
  await sleep(2_000);
  const idle: number[] = [];
  for (let call = 0; call < IDLE_CALLS; call += 1) idle.push(await timeRead(mooring));
  const mounts = Array.from({ length: MOUNTS }, (_each, at) => ({
    name: `m${at}`,
    mount_path: `/m/${at}`,
    driver: "Local",
    sites: { all: true },
    members: { order: 1 },
    config: { root_folder_path: `/srv/${at}` },
  }));
  const began = Date.now();
  await callAdmin(mooring, "/api/admin/mount/save", { mounts });
  let brought: Brought | undefined;
  const whole = crowd.ask(`${MOUNTS} 1`).then((line) => {
    brought = JSON.parse(line) as Brought;
  });
  const busy: number[] = [];
  while (brought === undefined) busy.push(await timeRead(mooring));
  await whole;
  await mooring.server.stop();
  await crowd.stop();
  return {
    ms: brought.time - began,
    calls: busy.length,
    idle: quantile(idle, 0.99),
    busy: quantile(busy, 0.99),
  };
}

interface Pair {
  readonly crowd: Conversation;
  readonly follow: Conversation;
}

async function open({ stage }: Lab, count: number): Promise<Pair> {
  const node = process.execPath;
  const crowd = stage.converse({
    program: node,
    args: [CROWD, String(count), "mounts"],
    cores: LOAD_CORE,
  });
  const sites = JSON.parse(await crowd.ask()) as FollowTask["sites"];
  const args = ["--expose-gc", FOLLOW];
  const follow = stage.converse({ program: node, args, cores: SERVER_CORE });
  const task: FollowTask = { file: join(stage.folder(), "mounts.db"), sites };
  await follow.ask(`${JSON.stringify(task)}\n0 0 0`);
  return { crowd, follow };
}

async function close({ crowd, follow }: Pair): Promise<void> {
  await follow.stop();
  await crowd.stop();
}

/** Changes the order of some mounts. @returns the time until every server had the change. */
async function bring(
  { crowd, follow }: Pair,
  count: number,
  changed: number,
  order: number,
): Promise<Brought & { readonly ms: number }> {
  const began = Number(await follow.ask(`${count} ${order} ${changed}`));
  const brought = JSON.parse(await crowd.ask(`${changed} ${order}`)) as Brought;
  return { ...brought, ms: brought.time - began };
}
