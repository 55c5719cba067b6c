import { type ChildProcess, spawn } from "node:child_process";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createVerifier } from "../../src/audit/chain.ts";
import type { AuditStore } from "../../src/audit/store.ts";
import type { LedgerStore, RevisionCommit } from "../../src/ledger/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { createRandom, type Random } from "../random.ts";

const TOKEN = "reliability-token-0123456789abcdefghijkl";
const CLIENTS = 16;
/** A service is killed after fewer acknowledged saves than this. */
const MOST_SAVES = 60;
/** It is then killed within this time, in milliseconds: at any moment of a save. */
const LATEST = 10;
/** One of this number of starts is killed before it serves. */
const EARLY = 5;

export interface KillOptions {
  readonly cycles: number;
  readonly seed: number;
  /** A folder for the database. */
  readonly folder: string;
  /** The program's main file. */
  readonly program: string;
  /** Called after each cycle. */
  readonly onCycle?: (cycle: number) => void;
}

export interface KillResult {
  readonly cycles: number;
  /** Saves that were answered with success. */
  readonly acknowledged: number;
  /** Revisions in the history at the end, with saves whose reply was lost. */
  readonly revisions: number;
  /** Violations, a sentence each. */
  readonly wrong: readonly string[];
}

/** Acknowledged values of the clients. */
interface Acknowledged {
  /** The last value by key. */
  readonly last: Map<string, number>;
  saves: number;
}

/**
 * Runs the service under the load of saving clients and kills it (SIGKILL) at random moments, also
 * during its start. After each kill every acknowledged save must be in the history, and the
 * settings must agree with the history.
 */
export async function killCycles(options: KillOptions): Promise<KillResult> {
  const { cycles, seed, folder, program } = options;
  const random = createRandom(seed);
  const acknowledged: Acknowledged = { last: new Map(), saves: 0 };
  const replayed: Replayed = { revision: 0, values: new Map() };
  const wrong: string[] = [];
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    await cycleOnce({ folder, program }, acknowledged, random);
    const problems = await check(join(folder, "mooring.db"), acknowledged, replayed);
    wrong.push(...problems.map((problem) => `cycle ${cycle}: ${problem}`));
    options.onCycle?.(cycle);
  }
  return { cycles, acknowledged: acknowledged.saves, revisions: replayed.revision, wrong };
}

async function cycleOnce(
  { folder, program }: { readonly folder: string; readonly program: string },
  acknowledged: Acknowledged,
  random: Random,
): Promise<void> {
  const child = spawn(process.execPath, [program], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      PATH: process.env["PATH"],
      MOORING_LISTEN: "127.0.0.1:0",
      MOORING_DATA_DIR: folder,
      MOORING_ADMIN_TOKEN: TOKEN,
      MOORING_HISTORY_REVISIONS: "10000000",
      MOORING_LOG_FORMAT: "json",
    },
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  try {
    if (random.below(EARLY) === 0) await sleep(random.below(500));
    else {
      const port = await portOf(child);
      const stop = new AbortController();
      const clients = Array.from({ length: CLIENTS }, (_, at) =>
        saveForever({ port, key: `client-${at}`, acknowledged, signal: stop.signal }),
      );
      const saves = acknowledged.saves + random.below(MOST_SAVES);
      let failed = false;
      void Promise.race(clients).then(() => {
        failed = true;
      });
      while (acknowledged.saves < saves && !failed) await sleep(1);
      await sleep(random.below(LATEST));
      child.kill("SIGKILL");
      await ended;
      stop.abort();
      await Promise.all(clients);
    }
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const [, port] = /"listen":"127\.0\.0\.1:(\d+)"/.exec(text) ?? [];
      if (port !== undefined) resolve(Number(port));
    });
    child.once("close", () => reject(new Error(`the service ended by itself: ${text}`)));
  });
}

/** Saves one value after the other over one connection, until the service is gone. */
async function saveForever(client: {
  readonly port: number;
  readonly key: string;
  readonly acknowledged: Acknowledged;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { port, key, acknowledged, signal } = client;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    for (;;) {
      const value = (acknowledged.last.get(key) ?? 0) + 1;
      await save({ port, agent, key, value, signal });
      acknowledged.last.set(key, value);
      acknowledged.saves += 1;
    }
  } catch {
    // It was killed: saves in flight have an unknown outcome.
  } finally {
    agent.destroy();
  }
}

function save(of: {
  readonly port: number;
  readonly agent: Agent;
  readonly key: string;
  readonly value: number;
  readonly signal: AbortSignal;
}): Promise<void> {
  const { port, agent, key, value, signal } = of;
  return new Promise((resolve, reject) => {
    const sent = request({
      host: "127.0.0.1",
      port,
      agent,
      signal,
      method: "POST",
      path: "/api/admin/setting/save",
      headers: { authorization: TOKEN, "content-type": "application/json" },
    });
    sent.on("error", reject);
    sent.on("response", (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      reply.on("error", reject);
      reply.on("end", () =>
        text.includes('"code":200') ? resolve() : reject(new Error(`not saved: ${text}`)),
      );
    });
    sent.end(JSON.stringify([{ key, value: String(value) }]));
  });
}

/** State of the history so far. */
interface Replayed {
  revision: number;
  readonly values: Map<string, string | null>;
}

async function check(
  path: string,
  acknowledged: Acknowledged,
  replayed: Replayed,
): Promise<string[]> {
  const store = await openSqliteStore(path, { integrityCheck: "always" });
  try {
    const { revision, records: settings } = await store.load();
    const wrong = await replay(store, revision, replayed);
    for (const { key, body } of settings)
      if (key.startsWith("client-") && replayed.values.get(key) !== body)
        wrong.push(`${key} is ${body}, and the history says ${replayed.values.get(key)}`);
    for (const [key, count] of acknowledged.last) {
      const kept = Number(replayed.values.get(key) ?? 0);
      if (kept < count) wrong.push(`${count} was acknowledged for ${key}, and ${kept} is there`);
      // A save whose reply was lost: its client does not save that value again.
      acknowledged.last.set(key, Math.max(count, kept));
    }
    return [...wrong, ...(await auditProblems(store.audit, revision))];
  } finally {
    await store.close();
  }
}

/** Whether the audit is intact, with a row for every revision. */
async function auditProblems(audit: AuditStore, revision: number): Promise<string[]> {
  const all = { after: 0, before: Number.MAX_SAFE_INTEGER, limit: 1e6, newestFirst: false };
  const rows = await audit.rows(all);
  const verifier = createVerifier(await audit.floor());
  const broken = rows.flatMap((row) => verifier.add(row) ?? []).slice(0, 1);
  const seen = rows.flatMap(({ detail }) => JSON.parse(detail).revision ?? []) as number[];
  const isWhole = seen.length === revision && seen.every((each, at) => each === at + 1);
  return isWhole ? broken : [...broken, `the audit has ${seen.length} of ${revision} revisions`];
}

/** Adds new revisions of the history: each revision once, each value of a client in its order. */
async function replay(store: LedgerStore, upTo: number, replayed: Replayed): Promise<string[]> {
  const wrong: string[] = [];
  const commits: readonly RevisionCommit[] = await store.commits(replayed.revision, upTo, 1e6);
  for (const { revision, changes } of commits) {
    if (revision !== replayed.revision + 1)
      wrong.push(`revision ${revision} follows ${replayed.revision}`);
    replayed.revision = revision;
    for (const { key, oldBody: oldValue, newBody: newValue } of changes) {
      const before = replayed.values.get(key) ?? null;
      if (
        key.startsWith("client-") &&
        (before !== oldValue || Number(newValue) !== Number(before) + 1)
      )
        wrong.push(
          `${key} went from ${oldValue} to ${newValue} in revision ${revision} after ${before}`,
        );
      replayed.values.set(key, newValue);
    }
  }
  if (replayed.revision !== upTo)
    wrong.push(`the history ends at ${replayed.revision}, not ${upTo}`);
  return wrong;
}
