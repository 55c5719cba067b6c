import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Experiment, type Lab, verdictOf } from "../experiment.ts";
import { addCustomSettings, callAdmin, type Mooring, startMooring } from "../mooring.ts";
import { peakBytes, resetPeak } from "../proc.ts";
import { readsWhile, timeReads } from "../read-time.ts";
import { decimal } from "../report.ts";
import { median, quantile } from "../statistics.ts";
import type { CrowdSite } from "./crowd.ts";
import { startCrowd } from "./crowd-process.ts";

const SETTINGS = 1_000;
const MOUNTS = 10_000;
const RULES = 1_000;
/** Mounts or rules of one save: the contract's limit. */
const BATCH = 500;
/** Time between saves and backups, in milliseconds: the service returns memory when it is idle. */
const REST = 11_000;
/** Interval of reads in milliseconds: one after the other would take much of the core. */
const EVERY = 10;
/** Reads of the idle service before each call. */
const IDLE_READS = 2_000;

/** Backups of a whole service, and their restores into empty ones. */
export const backupAndRestore: Experiment = {
  name: "backup",
  title: "Backup of 1,000 settings, 10,000 mounts of one server and 1,000 rules, and its restore",
  needs: [],
  measure: async (lab) => {
    const environment = backupEnvironment(lab);
    const { crowd, sites } = await startCrowd(lab, 1);
    const full = await startMooring(lab, { environment });
    await fill(full, sites[0]);
    let name = "";
    const backups: Timed[] = [];
    const restores: Timed[] = [];
    for (let round = 0; round < lab.plan.rounds; round += 1)
      backups.push(
        await timed(full, async () => {
          name = await createBackup(full);
        }),
      );
    await full.server.stop();
    for (let round = 0; round < lab.plan.rounds; round += 1) {
      const empty = await startMooring(lab, { environment });
      restores.push(await timed(empty, () => restoreBackup(empty, name)));
      await empty.server.stop();
    }
    await crowd.stop();
    const row = (what: string, of: (one: Timed) => number): string[] => [
      what,
      ...[backups, restores].map((all) => decimal(median(all.map(of)))),
    ];
    const verdicts = [
      ["backup", "a backup with its check", backups] as const,
      ["restore", "a restore", restores] as const,
    ].flatMap(([name, title, all]) => [
      verdictOf(title, all.map(secondsOf), " s", { atMost: 5 }),
      verdictOf(`memory for a ${name}`, all.map(megabytesOf), " MB", { atMost: 64 }),
      verdictOf(`reads during a ${name}, 99 %, against idle`, all.map(ratioOf), " ×", {
        atMost: 5,
      }),
      verdictOf(`longest read during a ${name}`, all.map(longestOf), " ms", { atMost: 250 }),
    ]);
    return {
      load: `One client reads a setting every ${EVERY} ms during the call; the check of a backup and the derivation of its key run in processes of their own on the core of the server`,
      columns: ["", "backup", "restore"],
      rows: [
        row("seconds", secondsOf),
        row("memory at the peak, more than before, MB", megabytesOf),
        row("a read of the idle service, 99 %, ms", ({ idle }) => quantile(idle, 0.99)),
        row("a read meanwhile, 99 %, ms", ({ reads }) => quantile(reads, 0.99)),
        row("longest read meanwhile, ms", longestOf),
      ],
      verdicts,
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
async function fill(mooring: Mooring, site: CrowdSite | undefined): Promise<void> {
  await addCustomSettings(mooring, SETTINGS);
  await callAdmin(mooring, "/api/admin/site/create", { name: "server", ...site });
  const batch = (start: number, of: (at: number) => object): readonly object[] =>
    Array.from({ length: BATCH }, (_each, offset) => of(start + offset));
  for (let start = 0; start < MOUNTS; start += BATCH)
    await callAdmin(mooring, "/api/admin/mount/save", { mounts: batch(start, mountOf) });
  for (let start = 0; start < RULES; start += BATCH)
    await callAdmin(mooring, "/api/admin/rule/save", { rules: batch(start, ruleOf) });
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

/** @returns the name of the backup. */
async function createBackup(mooring: Mooring): Promise<string> {
  const { data } = await callAdmin(mooring, "/api/admin/backup/create", {});
  const { backup, counts } = data as CreatedBackup;
  for (const [part, expected] of Object.entries({ mounts: MOUNTS, rules: RULES }))
    if (counts.find((each) => each.part === part)?.count !== expected)
      throw new Error(`the backup does not have ${expected} ${part}`);
  return backup.name;
}

interface CreatedBackup {
  readonly backup: { readonly name: string };
  readonly counts: readonly { readonly part: string; readonly count: number }[];
}

async function restoreBackup(mooring: Mooring, name: string): Promise<void> {
  const { data } = await callAdmin(mooring, "/api/admin/backup/restore", { name });
  const { results } = data as { readonly results: readonly { readonly outcome: string }[] };
  const created = results.filter(({ outcome }) => outcome === "created").length;
  const least = SETTINGS + MOUNTS + RULES;
  if (created < least) throw new Error(`the restore created ${created} of ${least} entries`);
}

/** A call with what it cost. */
interface Timed {
  readonly seconds: number;
  /** Resident memory of the service at its peak beyond that before, without other processes, in bytes. */
  readonly growth: number;
  /** Durations of reads before the call, in milliseconds. */
  readonly idle: readonly number[];
  /** Durations of reads during the call, in milliseconds. */
  readonly reads: readonly number[];
}

const secondsOf = ({ seconds }: Timed): number => seconds;
const megabytesOf = ({ growth }: Timed): number => growth / 1e6;
const ratioOf = ({ reads, idle }: Timed): number => quantile(reads, 0.99) / quantile(idle, 0.99);
const longestOf = ({ reads }: Timed): number => Math.max(...reads);

/** Makes a call of an idle service, and reads meanwhile. */
async function timed(mooring: Mooring, call: () => Promise<void>): Promise<Timed> {
  const { pid } = mooring.server;
  await sleep(REST);
  const idle = await timeReads(mooring, IDLE_READS);
  resetPeak(pid);
  const before = peakBytes(pid);
  const began = performance.now();
  const { reads } = await readsWhile(mooring, call(), EVERY);
  const seconds = (performance.now() - began) / 1e3;
  return { seconds, growth: peakBytes(pid) - before, idle, reads };
}
