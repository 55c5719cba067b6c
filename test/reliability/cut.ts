import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { LedgerStore, StoredState, StoredWrite } from "../../src/ledger/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { createRandom, type Random } from "../random.ts";
import { deleting, setting } from "../store/sample.ts";

/** SQLite file format, section 4.1: the log's header, and that of each page in it. */
const LOG_HEADER = 32;
const FRAME = 24 + 4_096;
const COMMITS = 80;
const KEYS = 12;

/** A state of the database, and the length of the log when it was on disk. */
interface Point {
  readonly length: number;
  readonly state: StoredState;
}

/** A database and its log as a power cut may leave them, undamaged. */
interface Master {
  readonly path: string;
  readonly log: Buffer;
  readonly points: readonly Point[];
}

/** Damage of the log: from a byte on it is missing, zeros or noise, or one bit is flipped. */
type Damage = "missing" | "zeros" | "noise" | "one bit";
const DAMAGES: readonly Damage[] = ["missing", "zeros", "noise", "one bit"];

export interface CutResult {
  readonly images: number;
  /** Images that open with another state than the last complete commit, a sentence each. */
  readonly wrong: readonly string[];
  /** States that are on disk at some moment: before each commit and after the last. */
  readonly revisions: number;
}

export interface CutOptions {
  /** Images in total; half of them, up to all, at page boundaries. */
  readonly images: number;
  readonly seed: number;
  /** A folder for the images. */
  readonly folder: string;
}

/**
 * Damages the write-ahead log of a database at every page boundary and at random bytes, and opens
 * each image: exactly the commits before the damage must be there, and a save must succeed.
 */
export async function cutImages({ images, seed, folder }: CutOptions): Promise<CutResult> {
  const random = createRandom(seed);
  const master = await makeMaster(folder, random);
  const wrong: string[] = [];
  const borders = Math.floor((master.log.length - LOG_HEADER) / FRAME) + 1;
  // With fewer images than page boundaries they are spread, and half of them have other damage.
  const cuts = Math.min(borders, Math.ceil(images / 2));
  for (let at = 0; at < images; at += 1) {
    const isCut = at < cuts;
    const damage: Damage = isCut ? "missing" : (DAMAGES[random.below(DAMAGES.length)] ?? "missing");
    const border = Math.floor((at * borders) / cuts);
    const offset = isCut ? LOG_HEADER + border * FRAME : random.below(master.log.length);
    const problem = await openImage(master, { damage, offset }, random);
    if (problem !== undefined) wrong.push(`${damage} from byte ${offset} on: ${problem}`);
  }
  return { images, wrong, revisions: master.points.length };
}

async function makeMaster(folder: string, random: Random): Promise<Master> {
  const path = join(folder, "master.db");
  const first = await openSqliteStore(path);
  await first.transact((trx) => trx.write(setting(1, { k0: "first" })));
  await first.close();
  const store = await openSqliteStore(path);
  const points: Point[] = [{ length: 0, state: await store.load() }];
  for (let revision = 2; revision <= COMMITS; revision += 1) {
    await store.transact((trx) => trx.write(randomWrite(revision, random)));
    points.push({ length: statSync(`${path}-wal`).size, state: await store.load() });
  }
  const kept = join(folder, "kept.db");
  copyFileSync(path, kept);
  const log = readFileSync(`${path}-wal`);
  await store.close();
  return { path: kept, log, points };
}

/** Short and long values of some keys, with occasional deletions. */
function randomWrite(revision: number, random: Random): StoredWrite {
  const key = () => `k${random.below(KEYS)}`;
  if (random.below(8) === 0) return deleting(revision, [key()]);
  const entries = Array.from({ length: 1 + random.below(4) }, () => {
    const long = random.below(5) === 0 ? 20_000 : 40;
    return [key(), `${revision} ${"v".repeat(random.below(long))}`] as const;
  });
  return setting(revision, Object.fromEntries(entries));
}

async function openImage(
  { path, log, points }: Master,
  { damage, offset }: { readonly damage: Damage; readonly offset: number },
  random: Random,
): Promise<string | undefined> {
  const folder = mkdtempSync(`${path}-`);
  const image = join(folder, "mooring.db");
  copyFileSync(path, image);
  const left = damaged(log, damage, offset, random);
  writeFileSync(`${image}-wal`, left);
  // Zeros over zeros do no damage.
  const whole = firstDifference(log, left);
  const last = points.findLast(({ length }) => length <= whole) ?? points[0];
  let store: LedgerStore | undefined;
  try {
    store = await openSqliteStore(image);
    return last === undefined ? "there is no state" : await problemOf(store, last.state);
  } catch (error) {
    return `it does not open: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    await store?.close();
    rmSync(folder, { recursive: true });
  }
}

function damaged(log: Buffer, damage: Damage, offset: number, random: Random): Buffer {
  if (damage === "missing") return log.subarray(0, offset);
  const copy = Buffer.from(log);
  if (damage === "zeros") copy.fill(0, offset);
  else if (damage === "one bit") copy[offset] = (copy[offset] ?? 0) ^ (1 << random.below(8));
  else for (let at = offset; at < copy.length; at += 1) copy[at] = random.below(256);
  return copy;
}

/** @returns the first byte that differs or is missing. */
function firstDifference(one: Buffer, other: Buffer): number {
  for (let at = 0; at < other.length; at += 1) if (one[at] !== other[at]) return at;
  return other.length;
}

async function problemOf(store: LedgerStore, expected: StoredState): Promise<string | undefined> {
  const state = await store.load();
  if (!isDeepStrictEqual(state, expected))
    return `revision ${state.revision} is there in the place of ${expected.revision}, or its settings differ`;
  const { revision } = state;
  const commits = await store.commits(0, revision, revision);
  if (!commits.every((commit, at) => commit.revision === at + 1) || commits.length !== revision)
    return "the history has a gap";
  await store.transact((trx) => trx.write(setting(revision + 1, { next: "1" })));
  const after = await store.load();
  return after.revision === revision + 1 ? undefined : "a save after it was lost";
}
