import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { callAdmin, startMooring } from "../mooring.ts";
import { residentBytes } from "../proc.ts";
import type { Stage } from "../stage.ts";
import { startYardstick } from "../yardstick.ts";
import type { Report } from "./attacker.ts";
import type { AttackCase } from "./attacks.ts";
import type { Tally, Target } from "./target.ts";
import { type Experience, startWitness } from "./witness.ts";

/** Options of a run. */
export interface Plan {
  readonly stage: Stage;
  /** Path of the program. */
  readonly server: string;
  readonly quick: boolean;
  readonly seed: number;
  readonly machine: Machine;
}

/**
 * Machine of a run. Times on a shared machine also depend on its other work: there, only a freeze
 * fails, and smaller delays are only reported.
 */
export type Machine = "own" | "shared";

/** Measurements; memory in MB. */
export interface Outcome {
  readonly before: Experience;
  readonly during: Experience;
  readonly memory: { readonly before: number; readonly peak: number; readonly after: number };
  /** Longest tick of the server's event loop, in milliseconds of processor time. */
  readonly tick: Worst;
  /** Part of the attack with the highest memory. */
  readonly peakPart: string;
  readonly tally: Tally;
  /** Broken bounds, a sentence each. */
  readonly broken: readonly string[];
}

/** Highest value, with its part of the attack. */
interface Worst {
  readonly value: number;
  readonly part: string;
}

/**
 * Bound of the 99th percentile of `/ping`, as a multiple of that before the attack or of the
 * control server.
 */
const PING_FACTOR = 5;
/**
 * Time of `/ping` that is always accepted, in milliseconds: one event-loop tick; on a shared
 * machine a short freeze.
 */
const FLOOR: Readonly<Record<Machine, number>> = { own: 25, shared: 1_000 };
/**
 * Permitted growth of memory, as a multiple of the attack's bound: on a shared machine garbage is
 * collected later.
 */
const GROWTH: Readonly<Record<Machine, number>> = { own: 1, shared: 1.5 };
/** Bound of memory after the attack, as a multiple of the initial memory. */
const MEMORY_FACTOR = 1.3;
/** Additional memory for code that ran for the first time, in MB. */
const FIRST_RUN = 10;
/** Time limit for the release of memory, in milliseconds. */
const PATIENCE = 30_000;
/** Times of normal operation before an attack, in milliseconds. */
const CALM = { warmUp: 1_000, measured: 1_500 };

const attacker = join(import.meta.dirname, "attacker.ts");
const longestTick = join(import.meta.dirname, "longest-tick.ts");

/** Server with its well-behaved client, for several attacks. */
export interface Scene {
  attack(attack: AttackCase): Promise<Outcome>;
  close(): Promise<void>;
}

/**
 * Starts a server and waits for normal operation. @param publicBytes size of its public settings.
 */
export async function openScene(plan: Plan, publicBytes = 0): Promise<Scene> {
  const { stage, seed, quick } = plan;
  const ticks = join(stage.folder(), "ticks");
  writeFileSync(ticks, "");
  const environment = {
    // Default bounds; experiments of the bench have wider ones.
    MOORING_MAX_CUSTOM_SETTINGS: "2000",
    MOORING_MAX_SETTINGS: "8MiB",
    ATTACK_TICKS: ticks,
  };
  const mooring = await startMooring(plan, { environment, nodeFlags: [`--import=${longestTick}`] });
  const { port, token, server } = mooring;
  if (publicBytes > 0) {
    const settings = [{ key: "customize_head", value: "v".repeat(publicBytes) }];
    await callAdmin(mooring, "/api/admin/setting/save", settings);
  }
  const control = await startYardstick(stage, "empty-fastify.mjs");
  const witness = startWitness(mooring, control.port);
  await sleep(CALM.warmUp);
  await witness.look();
  await sleep(CALM.measured);
  const before = await witness.look();
  const resident = (): number => residentBytes(server.pid) / 1e6;
  const goal = resident() * MEMORY_FACTOR + FIRST_RUN;

  const attack = async (attack: AttackCase): Promise<Outcome> => {
    const began = resident();
    await witness.look();
    const parts = watchParts(resident, ticks);
    try {
      const target = { port, seed, quick, token: attack.token === true ? token : "" };
      const tally = await attackFor(attack, target, parts.begin);
      // Time for unfinished requests to end.
      await sleep(500);
      const during = await witness.look();
      const allowed = goal + (attack.bounds.stored ?? 0);
      const deadline = performance.now() + PATIENCE;
      while (resident() > allowed && performance.now() < deadline) await sleep(100);
      server.assertAlive();
      const { memory: peak, tick } = parts.worst();
      const after = resident();
      const memory = { before: began, peak: peak.value, after };
      const broken = brokenBounds(attack, { before, during, memory }, plan.machine);
      if (after > allowed) broken.push(`memory stays at ${after.toFixed(0)} MB`);
      return { before, during, memory, tick, peakPart: peak.part, tally, broken };
    } finally {
      parts.stop();
    }
  };
  const close = async (): Promise<void> => {
    witness.close();
    await Promise.all([server.stop(), control.server.stop()]);
  };
  return { attack, close };
}

/** Returns the broken bounds, a sentence each. */
export function brokenBounds(
  { bounds }: Pick<AttackCase, "bounds">,
  { before, during, memory }: Pick<Outcome, "before" | "during" | "memory">,
  machine: Machine = "own",
): string[] {
  const broken: string[] = [];
  const grown = memory.peak - memory.before;
  if (grown > bounds.memory * GROWTH[machine]) broken.push(`memory grew by ${grown.toFixed(0)} MB`);
  // Other work on the machine slows both servers down.
  const slow = Math.max(before.ping.p99, during.control.p99);
  const ping = Math.max(slow * PING_FACTOR, bounds.ping ?? 0, FLOOR[machine]);
  if (!(during.ping.p99 <= ping))
    broken.push(`/ping took ${during.ping.p99.toFixed(0)} ms, more than ${ping.toFixed(0)}`);
  const delay = during.control.p50 - before.control.p50;
  const save =
    Math.max(before.save.p50 * (bounds.save ?? Number.POSITIVE_INFINITY), FLOOR[machine]) + delay;
  if (bounds.save !== undefined && !(during.save.p50 <= save))
    broken.push(`a save took ${during.save.p50.toFixed(0)} ms, more than ${save.toFixed(0)}`);
  if (during.failed > 0) broken.push(`${during.failed} calls of others failed`);
  return broken;
}

/** Runs the attack in a separate process for its time. @returns its counts. */
async function attackFor(
  { name, seconds: [short, long] }: AttackCase,
  target: Target,
  begin: (part: string) => void,
): Promise<Tally> {
  const child = fork(attacker, [name, JSON.stringify(target)]);
  // After all of its messages.
  const ended = once(child, "close") as Promise<[number | null]>;
  let tally: Tally = {};
  child.on("message", (report: Report) => {
    if ("part" in report) begin(report.part);
    else tally = report.tally;
  });
  await Promise.race([once(child, "message"), ended]);
  let force: NodeJS.Timeout | undefined;
  const end = (): void => {
    if (child.connected) child.send("end");
    force = setTimeout(() => child.kill("SIGKILL"), 5_000);
  };
  const time = setTimeout(end, (target.quick ? short : long) * 1_000);
  const [code] = await ended;
  clearTimeout(time);
  clearTimeout(force);
  if (code === 1) throw new Error(`the attack ${name} has failed by itself`);
  return tally;
}

/**
 * Records memory and ticks by the parts of an attack.
 *
 * @param file output of `longest-tick.ts`.
 */
function watchParts(resident: () => number, file: string) {
  // Ticks from before the attack are left out.
  let read = readFileSync(file, "latin1").length;
  let part = "";
  let memory: Worst = { value: resident(), part };
  let tick: Worst = { value: 0, part };
  const look = (): void => {
    const value = resident();
    if (value > memory.value) memory = { value, part };
    const lines = readFileSync(file, "latin1").slice(read);
    const whole = lines.slice(0, lines.lastIndexOf("\n") + 1);
    read += whole.length;
    const longest = Math.max(...whole.split("\n").map(Number));
    if (longest > tick.value) tick = { value: longest, part };
  };
  const timer = setInterval(look, 50);
  return {
    begin: (name: string) => {
      look();
      part = name;
    },
    worst: () => {
      look();
      return { memory, tick };
    },
    stop: () => clearInterval(timer),
  };
}
