import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Experiment, type Lab, limited } from "../experiment.ts";
import { callAdmin, followSite, type Mooring, startMooring } from "../mooring.ts";
import { readsWhile, timeReads } from "../read-time.ts";
import { type Conversation, LOAD_CORE } from "../stage.ts";
import { median, quantile } from "../statistics.ts";
import type { Brought, CrowdSite } from "./crowd.ts";

const CROWD = fileURLToPath(new URL("crowd.ts", import.meta.url));
/** Number of measured changes of one mount, of mounts of a clone, and of servers with mounts each. */
const CHANGES = 20;
const CLONE = 200;
const SITES = 100;
const MOUNTS = 20;
/** Number of reads before the push. */
const IDLE_READS = 2_000;

/** Pushes of mounts to stand-ins: one change, a whole server, and many servers. */
export const mountFollow: Experiment = {
  name: "mounts",
  title: `Mounts on servers: one change, a clone of a server, and ${SITES} servers with ${MOUNTS} each`,
  needs: [],
  measure: async (lab) => {
    const { clone, changes } = await measureOne(lab);
    const { all, idle, busy } = await measureMany(lab);
    const change = median(changes);
    const [idle99, busy99] = [quantile(idle, 0.99), quantile(busy, 0.99)];
    return {
      load: "Stand-ins of servers in one process; one client reads a setting, one call after the other, before and during the push to all servers",
      columns: ["", "milliseconds"],
      rows: [
        [`one change of ${CLONE} mounts, median`, change.toFixed(1)],
        [`${CLONE} mounts to one server`, clone.toFixed(0)],
        [`${MOUNTS} mounts to each of ${SITES} servers`, all.toFixed(0)],
        ["a read, 99 %, idle", idle99.toFixed(2)],
        [`the same during the push (${busy.length} reads)`, busy99.toFixed(2)],
      ],
      verdicts: [
        limited("one change", change, " ms", 1_000),
        limited(`a clone of ${CLONE} mounts`, clone / 1e3, " s", 30),
        limited(`${SITES} servers × ${MOUNTS}`, all / 1e3, " s", 60),
        limited("reads during the push, 99 %, against idle", busy99 / idle99, " ×", 5),
      ],
      notes: ["A stand-in mounts without delay."],
      figures: { clone, changes, all, idle, busy },
    };
  },
};

/** One server: all mounts at first, then changes of one of them. */
async function measureOne(
  lab: Lab,
): Promise<{ readonly clone: number; readonly changes: readonly number[] }> {
  const { mooring, crowd } = await open(lab, 1);
  const clone = await bring(mooring, crowd, CLONE, 1);
  const changes: number[] = [];
  for (let order = 2; order < 2 + CHANGES; order += 1)
    changes.push(await bring(mooring, crowd, 1, order));
  await mooring.server.stop();
  await crowd.stop();
  return { clone, changes };
}

/** Many servers, with the reads before and during the push. */
async function measureMany(lab: Lab): Promise<{
  readonly all: number;
  readonly idle: readonly number[];
  readonly busy: readonly number[];
}> {
  const { mooring, crowd } = await open(lab, SITES);
  await sleep(2_000);
  const idle = await timeReads(mooring, IDLE_READS);
  const { result: all, reads: busy } = await readsWhile(mooring, bring(mooring, crowd, MOUNTS, 1));
  await mooring.server.stop();
  await crowd.stop();
  return { all, idle, busy };
}

/** Starts Mooring with stand-ins that it follows. */
async function open(
  lab: Lab,
  count: number,
): Promise<{ readonly mooring: Mooring; readonly crowd: Conversation }> {
  const crowd = lab.stage.converse({
    program: process.execPath,
    args: [CROWD, String(count), "whole"],
    cores: LOAD_CORE,
  });
  const sites = JSON.parse(await crowd.ask()) as CrowdSite[];
  const mooring = await startMooring(lab);
  for (const [at, site] of sites.entries())
    await followSite(mooring, { name: `site-${at}`, ...site });
  return { mooring, crowd };
}

/** Saves the first mounts with an order. @returns the milliseconds until every server has them. */
async function bring(
  mooring: Mooring,
  crowd: Conversation,
  count: number,
  order: number,
): Promise<number> {
  const mounts = Array.from({ length: count }, (_each, at) => ({
    name: `m${at}`,
    mount_path: `/m/${at}`,
    driver: "Local",
    sites: { all: true },
    members: { order },
    config: { root_folder_path: `/srv/${at}` },
  }));
  const began = Date.now();
  await callAdmin(mooring, "/api/admin/mount/save", { mounts });
  const { time } = JSON.parse(await crowd.ask(`${count} ${order}`)) as Brought;
  return time - began;
}
