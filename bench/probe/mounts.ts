import { setTimeout as sleep } from "node:timers/promises";
import { type Experiment, type Lab, limited } from "../experiment.ts";
import { callAdmin, type Mooring, startMooring } from "../mooring.ts";
import { readsWhile, timeReads } from "../read-time.ts";
import type { Conversation } from "../stage.ts";
import { median, quantile } from "../statistics.ts";
import { startCrowd } from "./crowd-process.ts";

/** Number of mounts of a clone, and of servers with mounts each. */
const CLONE = 200;
const SITES = 100;
const MOUNTS = 20;
/** Number of reads before the push. */
const IDLE_READS = 2_000;

/** Pushes of mounts and settings to stand-ins: one change, a whole server, and many servers. */
export const siteFollow: Experiment = {
  name: "mounts",
  title: `Mounts and settings on servers: one change, a clone of a server, and ${SITES} servers with ${MOUNTS} mounts each`,
  needs: [],
  measure: async (lab) => {
    const { clone, changes } = await measureOne(lab);
    const { all, settings, idle, busy } = await measureMany(lab);
    const change = median(changes);
    const setting = median(settings);
    const [idle99, busy99] = [quantile(idle, 0.99), quantile(busy, 0.99)];
    return {
      load: "Stand-ins of servers in one process, which mount without delay; one client reads a setting, one call after the other, before and during the push of mounts to all servers",
      columns: ["", "milliseconds"],
      rows: [
        [`one change of ${CLONE} mounts, median`, change.toFixed(1)],
        [`${CLONE} mounts to one server`, clone.toFixed(0)],
        [`${MOUNTS} mounts to each of ${SITES} servers`, all.toFixed(0)],
        [`one setting to ${SITES} servers, median`, setting.toFixed(0)],
        ["a read, 99 %, idle", idle99.toFixed(2)],
        [`the same during the push (${busy.length} reads)`, busy99.toFixed(2)],
      ],
      verdicts: [
        limited("one change", change, " ms", 1_000),
        limited(`a clone of ${CLONE} mounts`, clone / 1e3, " s", 30),
        limited(`${SITES} servers × ${MOUNTS}`, all / 1e3, " s", 60),
        limited(`one setting to ${SITES} servers`, setting / 1e3, " s", 1),
        limited("reads during the push, 99 %, against idle", busy99 / idle99, " ×", 5),
      ],
    };
  },
};

/** One server: all mounts at first, then changes of one of them. */
async function measureOne(lab: Lab) {
  const { mooring, crowd } = await open(lab, 1);
  const clone = await bring(mooring, crowd, CLONE, 1);
  const changes: number[] = [];
  for (let change = 0; change < lab.plan.times; change += 1)
    changes.push(await bring(mooring, crowd, 1, 2 + change));
  await mooring.server.stop();
  await crowd.stop();
  return { clone, changes };
}

/** Many servers, with the reads before and during the push of mounts. */
async function measureMany(lab: Lab) {
  const { mooring, crowd } = await open(lab, SITES);
  await sleep(2_000);
  const idle = await timeReads(mooring, IDLE_READS);
  const { result: all, reads: busy } = await readsWhile(mooring, bring(mooring, crowd, MOUNTS, 1));
  const settings: number[] = [];
  for (let change = 0; change < lab.plan.times; change += 1) {
    // Time for reading back and storing states.
    await sleep(1_000);
    const value = `everywhere, change ${change}`;
    const began = Date.now();
    await callAdmin(mooring, "/api/admin/setting/save", [{ key: "site_title", value }]);
    settings.push(Number(await crowd.ask(value)) - began);
  }
  await mooring.server.stop();
  await crowd.stop();
  return { all, settings, idle, busy };
}

/** Starts Mooring with stand-ins that follow it. */
async function open(lab: Lab, count: number) {
  const { crowd, sites } = await startCrowd(lab, count);
  const mooring = await startMooring(lab);
  for (const [at, site] of sites.entries()) {
    const name = `site-${at}`;
    await callAdmin(mooring, "/api/admin/site/create", { name, ...site });
    await callAdmin(mooring, "/api/admin/site/sync", { name });
    const mode = { mode: "SITE_MODE_FOLLOW" };
    await callAdmin(mooring, `/api/admin/site/update?name=${name}`, mode);
  }
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
  return Number(await crowd.ask(`${count} ${order}`)) - began;
}
