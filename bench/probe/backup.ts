import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Experiment, type Lab, limited } from "../experiment.ts";
import { addCustomSettings, callAdmin, type Mooring, startMooring } from "../mooring.ts";
import { peakBytes, resetPeak } from "../proc.ts";
import { readsWhile, timeReads } from "../read-time.ts";
import { LOAD_CORE } from "../stage.ts";
import { median, quantile } from "../statistics.ts";
import type { CrowdSite } from "./crowd.ts";

const CROWD = fileURLToPath(new URL("crowd.ts", import.meta.url));
const SETTINGS = 1_000;
const MOUNTS = 10_000;
const RULES = 1_000;
/** Mounts or rules of one save: the contract's limit. */
const BATCH = 500;
/** Number of reads without a backup or restore. */
const IDLE_READS = 2_000;
/** Time between saves and backups, in milliseconds: the service returns memory when it is idle. */
const REST = 11_000;

/** Backups of a whole service, and their restores into empty ones. */
export const backupAndRestore: Experiment = {
  name: "backup",
  title: "Backup of 1,000 settings, 10,000 mounts of one server and 1,000 rules, and its restore",
  needs: [],
  measure: async (lab) => {
    const rounds = lab.quick ? 1 : lab.plan.rounds;
    const environment = backupEnvironment(lab);
    const crowd = lab.stage.converse({
      program: process.execPath,
      args: [CROWD, "1", "whole"],
      cores: LOAD_CORE,
    });
    const [site] = JSON.parse(await crowd.ask()) as CrowdSite[];
    if (site === undefined) throw new Error("the stand-in has no address");
    const full = await startMooring(lab, { environment });
    await fill(full, site);
    const quiet = await repeat(rounds, () => secondsOf(full, createBackup));
    const backups = await repeat(rounds, () => timed(full, createBackup));
    await full.server.stop();
    const name = backups.at(-1)?.result.name ?? "";
    const onEmpty = async <T>(work: (empty: Mooring) => Promise<T>): Promise<T> => {
      const empty = await startMooring(lab, { environment });
      const result = await work(empty);
      await empty.server.stop();
      return result;
    };
    const restored = (mooring: Mooring) => restoreBackup(mooring, name);
    const quietRestores = await repeat(rounds, () =>
      onEmpty((empty) => secondsOf(empty, restored)),
    );
    const restores = await repeat(rounds, () => onEmpty((empty) => timed(empty, restored)));
    await crowd.stop();
    const [backup, restore] = [summary(backups), summary(restores)];
    const alone = { backup: median(quiet), restore: median(quietRestores) };
    return {
      load: "Without other calls; then one client reads a setting, one call after the other, before and during the call. The check of a backup and the derivation of its key run in processes of their own on the core of the server",
      columns: ["", "backup", "restore"],
      rows: [
        ["seconds, without other calls", alone.backup.toFixed(2), alone.restore.toFixed(2)],
        ["seconds, with reads", backup.seconds.toFixed(2), restore.seconds.toFixed(2)],
        ["the same, longest", backup.longest.toFixed(2), restore.longest.toFixed(2)],
        ["memory at the peak, more than before, MB", mb(backup.growth), mb(restore.growth)],
        ["a read, 99 %, idle, ms", backup.idle.toFixed(2), restore.idle.toFixed(2)],
        ["the same meanwhile, ms", backup.busy.toFixed(2), restore.busy.toFixed(2)],
        [
          "longest read meanwhile, ms",
          backup.longestRead.toFixed(0),
          restore.longestRead.toFixed(0),
        ],
      ],
      verdicts: [
        limited("a backup with its check", alone.backup, " s", 5),
        limited("a restore into an empty service", alone.restore, " s", 5),
        limited("memory of the service for a backup", backup.growth / 1e6, " MB", 64),
        limited("memory of the service for a restore", restore.growth / 1e6, " MB", 64),
        limited("reads during a backup, 99 %, against idle", backup.ratio, " ×", 5),
        limited("reads during a restore, 99 %, against idle", restore.ratio, " ×", 5),
      ],
      notes: [
        `Medians of ${rounds} backups of ${mb(backups[0]?.result.size ?? 0)} MB, and of restores into as many new services. The server of the mounts is a stand-in that is observed.`,
      ],
      figures: { quiet, quietRestores, backups, restores },
    };
  },
};

/** Variables of services that share a folder of backups. */
function backupEnvironment({ stage }: Lab): Readonly<Record<string, string>> {
  const folder = stage.folder();
  const passphrase = join(folder, "passphrase");
  writeFileSync(passphrase, "passphrase of the bench");
  return {
    MOORING_BACKUP_DIR: join(folder, "backups"),
    MOORING_BACKUP_PASSPHRASE_FILE: passphrase,
    MOORING_SECRET_KEY: "5a".repeat(32),
  };
}

/** Saves everything that a backup has, half of it with secrets, as users do. */
async function fill(mooring: Mooring, { url, token }: CrowdSite): Promise<void> {
  await addCustomSettings(mooring, SETTINGS);
  await callAdmin(mooring, "/api/admin/site/create", { name: "server", url, token });
  for (let start = 0; start < MOUNTS; start += BATCH)
    await callAdmin(mooring, "/api/admin/mount/save", {
      mounts: Array.from({ length: BATCH }, (_each, offset) => mountOf(start + offset)),
    });
  for (let start = 0; start < RULES; start += BATCH)
    await callAdmin(mooring, "/api/admin/rule/save", {
      rules: Array.from({ length: BATCH }, (_each, offset) => ruleOf(start + offset)),
    });
}

function mountOf(at: number) {
  return {
    name: `m${at}`,
    mount_path: `/folder/m${at}`,
    driver: "WebDav",
    sites: { all: true },
    members: { order: at },
    config: {
      vendor: "other",
      address: `https://dav.example/${at}`,
      username: `user${at}`,
      password: `password-of-${at}`,
      root_folder_path: "/",
    },
  };
}

function ruleOf(at: number) {
  return {
    path: `/folder/m${at}`,
    password: at % 2 === 0 ? `password-of-${at}` : "",
    p_sub: true,
    hide: "^secret\n\\.tmp$",
    readme: `Folder ${at}: files of the project, sorted by year.`,
    sites: { all: true },
  };
}

async function createBackup(mooring: Mooring): Promise<StoredBackup> {
  const { data } = await callAdmin(mooring, "/api/admin/backup/create", {});
  const { backup, counts } = data as CreatedBackup;
  for (const [part, expected] of Object.entries({ mounts: MOUNTS, rules: RULES }))
    if (counts.find((each) => each.part === part)?.count !== expected)
      throw new Error(`the backup does not have ${expected} ${part}`);
  return { name: backup.name, size: Number(backup.size) };
}

interface CreatedBackup {
  readonly backup: { readonly name: string; readonly size: number | string };
  readonly counts: readonly { readonly part: string; readonly count: number }[];
}

interface StoredBackup {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
}

/** @returns the number of created entries. */
async function restoreBackup(mooring: Mooring, name: string): Promise<number> {
  const { data } = await callAdmin(mooring, "/api/admin/backup/restore", { name });
  const { results } = data as { readonly results: readonly { readonly outcome: string }[] };
  const created = results.filter(({ outcome }) => outcome === "created").length;
  const least = SETTINGS + MOUNTS + RULES;
  if (created < least) throw new Error(`the restore created ${created} of ${least} entries`);
  return created;
}

/** A call with what it cost. */
interface Timed<T> {
  readonly result: T;
  readonly seconds: number;
  /** Resident memory of the service at its peak beyond that before, without other processes, in bytes. */
  readonly growth: number;
  /** Durations of reads before and during the call, in milliseconds. */
  readonly idle: readonly number[];
  readonly busy: readonly number[];
}

/** Makes a call of an idle service, without other calls. @returns its duration in seconds. */
async function secondsOf(
  mooring: Mooring,
  call: (mooring: Mooring) => Promise<unknown>,
): Promise<number> {
  await sleep(REST);
  const began = performance.now();
  await call(mooring);
  return (performance.now() - began) / 1e3;
}

/** Makes a call of an idle service, and reads meanwhile. */
async function timed<T>(
  mooring: Mooring,
  call: (mooring: Mooring) => Promise<T>,
): Promise<Timed<T>> {
  const { pid } = mooring.server;
  await sleep(REST);
  const idle = await timeReads(mooring, IDLE_READS);
  resetPeak(pid);
  const before = peakBytes(pid);
  const began = performance.now();
  const { result, reads: busy } = await readsWhile(mooring, call(mooring));
  const seconds = (performance.now() - began) / 1e3;
  return { result, seconds, growth: peakBytes(pid) - before, idle, busy };
}

async function repeat<T>(rounds: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let round = 0; round < rounds; round += 1) results.push(await work());
  return results;
}

/** Medians of calls. */
function summary(all: readonly Timed<unknown>[]) {
  const times = all.map(({ seconds }) => seconds);
  const p99 = (reads: readonly number[]) => quantile(reads, 0.99);
  return {
    seconds: median(times),
    longest: Math.max(...times),
    growth: median(all.map(({ growth }) => growth)),
    idle: median(all.map(({ idle }) => p99(idle))),
    busy: median(all.map(({ busy }) => p99(busy))),
    longestRead: Math.max(...all.flatMap(({ busy }) => busy)),
    ratio: median(all.map(({ idle, busy }) => p99(busy) / p99(idle))),
  };
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
