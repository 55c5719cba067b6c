import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { callAdmin, startMooring } from "../mooring.ts";
import { freePort } from "../port.ts";
import { residentBytes } from "../proc.ts";
import { SERVER_CORE, type Stage } from "../stage.ts";
import { untilListening } from "../yardstick.ts";
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
  /** Seconds until memory was released, or the time limit. */
  readonly recovery: number;
  /** Longest tick of the server's event loop, in milliseconds of processor time. */
  readonly tick: Worst;
  /** Part of the attack with the highest memory. */
  readonly peakPart: string;
  readonly tally: Tally;
  /** Broken bounds, a sentence each. */
  readonly broken: readonly string[];
}

/** Highest value, with its part of the attack. */
export interface Worst {
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
/** Time limit for the release of memory, in seconds. */
const PATIENCE = 30;
/** Times of normal operation before an attack, in milliseconds. */
const CALM = { warmUp: 1_000, measured: 1_500 };

const attacker = join(import.meta.dirname, "attacker.ts");
const control = join(import.meta.dirname, "control.ts");
const longestTick = join(import.meta.dirname, "longest-tick.ts");

/** Server with its well-behaved client, for several attacks. */
export interface Scene {
  attack(attack: AttackCase): Promise<Outcome>;
  close(): Promise<void>;
}

/**
 * Starts a server and waits for normal operation. @param publicBytes size of its public settings.
 */
export async function openScene(
  { stage, server, quick, seed, machine }: Plan,
  publicBytes = 0,
): Promise<Scene> {
  const environment = {
    // Default bounds; experiments of the bench have wider ones.
    MOORING_MAX_CUSTOM_SETTINGS: "2000",
    MOORING_MAX_SETTINGS: "8MiB",
  };
  const tickFile = join(stage.folder(), "ticks");
  writeFileSync(tickFile, "");
  const mooring = await startMooring(
    { stage, server },
    {
      environment: { ...environment, ATTACK_TICKS: tickFile },
      nodeFlags: [`--import=${longestTick}`],
    },
  );
  const ticks = readTicks(tickFile);
  const { port, token } = mooring;
  if (publicBytes > 0)
    await callAdmin(mooring, "/api/admin/setting/save", saveOf("customize_head", publicBytes));
  const controlPort = await freePort();
  const command = { program: process.execPath, args: [control, `${controlPort}`] };
  const beside = stage.start({ ...command, cores: SERVER_CORE });
  await untilListening(beside, controlPort, "the control server");
  const witness = startWitness({
    port,
    token,
    save: JSON.stringify(saveOf("site_title", 20)),
    controlPort,
  });
  await sleep(CALM.warmUp);
  await witness.look();
  await sleep(CALM.measured);
  const before = await witness.look();
  const resident = (): number => residentBytes(mooring.server.pid) / 1e6;
  const goal = resident() * MEMORY_FACTOR + FIRST_RUN;
  return {
    attack: async (attack) => {
      const parts = watchParts(resident, ticks);
      const began = resident();
      await witness.look();
      const target = { port, seed, ...(attack.token ? { token } : {}) };
      const tally = await attackFor(attack, target, {
        seconds: attack.seconds[quick ? 0 : 1],
        begin: parts.begin,
      });
      // Time for unfinished requests to end.
      await sleep(500);
      const during = await witness.look();
      const allowed = goal + (attack.bounds.stored ?? 0);
      const recovery = await recovered(resident, allowed);
      const { memory, tick } = parts.stop();
      mooring.server.assertAlive();
      const after = resident();
      const measured = {
        before,
        during,
        memory: { before: began, peak: memory.value, after },
        recovery,
        tick,
        peakPart: memory.part,
        tally,
      };
      const stays = after > allowed ? [`memory stays at ${after.toFixed(0)} MB`] : [];
      return { ...measured, broken: [...brokenBounds(attack, measured, machine), ...stays] };
    },
    close: async () => {
      witness.close();
      await Promise.all([mooring.server.stop(), beside.stop()]);
    },
  };
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

/** Runs the attack in a separate process. @returns its counts. */
async function attackFor(
  { name }: AttackCase,
  target: Target,
  { seconds, begin }: { readonly seconds: number; readonly begin: (part: string) => void },
): Promise<Tally> {
  const child = spawn(process.execPath, [attacker, name, JSON.stringify(target)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "close") as Promise<[number | null]>;
  const lines = createInterface({ input: child.stdout });
  let tally: Tally = {};
  lines.on("line", (line) => {
    if (line.startsWith("part ")) begin(line.slice(5));
    else if (line.startsWith("{")) tally = JSON.parse(line) as Tally;
  });
  const read = once(lines, "close");
  await Promise.race([once(lines, "line"), read]);
  await Promise.race([sleep(seconds * 1_000), ended]);
  child.stdin.on("error", () => undefined).end();
  const force = setTimeout(() => child.kill("SIGKILL"), 5_000);
  const [code] = await ended;
  clearTimeout(force);
  await read;
  if (code === 1) throw new Error(`the attack ${name} has failed by itself`);
  return tally;
}

async function recovered(now: () => number, goal: number): Promise<number> {
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1_000;
  while (now() > goal && seconds() < PATIENCE) await sleep(100);
  return seconds();
}

/** Records memory and ticks by the parts of an attack. */
function watchParts(resident: () => number, ticks: () => readonly number[]) {
  let part = "";
  let memory: Worst = { value: resident(), part };
  // Drops ticks from before the attack.
  ticks();
  let tick: Worst = { value: 0, part };
  const look = (): void => {
    const value = resident();
    if (value > memory.value) memory = { value, part };
    for (const one of ticks()) if (one > tick.value) tick = { value: one, part };
  };
  const timer = setInterval(look, 50);
  return {
    begin: (name: string) => {
      look();
      part = name;
    },
    stop: () => {
      clearInterval(timer);
      look();
      return { memory, tick };
    },
  };
}

/**
 * Reads the output of `longest-tick.ts`. @returns a function with the ticks since its last call.
 */
function readTicks(file: string): () => readonly number[] {
  let offset = 0;
  return () => {
    const text = readFileSync(file, "latin1");
    const end = text.lastIndexOf("\n") + 1;
    const lines = text.slice(offset, end).split("\n").slice(0, -1);
    offset = Math.max(offset, end);
    return lines.map(Number);
  };
}

function saveOf(key: string, bytes: number): readonly object[] {
  return [{ key, value: "v".repeat(bytes) }];
}
