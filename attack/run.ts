import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fullPlan, type Lab } from "../bench/experiment.ts";
import { type Mooring, startMooring } from "../bench/mooring.ts";
import { accepts, freePort, until } from "../bench/port.ts";
import { residentBytes } from "../bench/proc.ts";
import { SERVER_CORE, type Stage } from "../bench/stage.ts";
import type { AttackCase } from "./attacks.ts";
import type { Tally, Target } from "./target.ts";
import { type Experience, startWitness } from "./witness.ts";

/** How a run is made. */
export interface Plan {
  readonly stage: Stage;
  /** The program: its file. */
  readonly server: string;
  readonly quick: boolean;
  readonly seed: number;
  readonly machine: Machine;
}

/**
 * Where an attack runs. Times of a machine that is shared tell of its other work as much as of the
 * server: there a server fails that freezes, and one that is a little slow is only shown.
 */
export type Machine = "own" | "shared";

/** What was measured; memory in MB. */
export interface Outcome {
  readonly before: Experience;
  readonly during: Experience;
  readonly memory: { readonly before: number; readonly peak: number; readonly after: number };
  /** Seconds until memory was back, or as long as was waited. */
  readonly recovery: number;
  /** The longest tick of the server's event loop, in milliseconds of processor time. */
  readonly tick: Worst;
  /** The part of the attack in which memory was highest. */
  readonly peakPart: string;
  readonly tally: Tally;
  /** Bounds that did not hold, a sentence each. */
  readonly broken: readonly string[];
}

/** The highest value, and the part of the attack in which it was met. */
export interface Worst {
  readonly value: number;
  readonly part: string;
}

/** `/ping`, 99 of 100, as a multiple of what it was before, or of what the machine takes by now. */
const PING_FACTOR = 5;
/** What is never held against a server, in milliseconds: one turn of its event loop; a short freeze. */
const FLOOR: Readonly<Record<Machine, number>> = { own: 25, shared: 1_000 };
/** What memory may grow by, as a multiple of the attack's bound: how soon garbage goes is a time as well. */
const GROWTH: Readonly<Record<Machine, number>> = { own: 1, shared: 1.5 };
/** Memory when the attacker has gone, as a multiple of what it was when nothing had happened yet. */
const MEMORY_FACTOR = 1.3;
/** And what code takes that has run for the first time, in MB. */
const FIRST_RUN = 10;
/** For how long memory may take to go back, in seconds. */
const PATIENCE = 30;
/** Milliseconds of ordinary life before an attack. */
const CALM = { warmUp: 1_000, measured: 1_500 };

const attacker = join(import.meta.dirname, "attacker.ts");
const control = join(import.meta.dirname, "control.ts");
const longestTick = join(import.meta.dirname, "longest-tick.ts");

/** A server with its well-behaved client, to be attacked more than once. */
export interface Scene {
  attack(attack: AttackCase): Promise<Outcome>;
  close(): Promise<void>;
}

/** Starts a server and lets it live for a while. @param publicBytes of its public settings. */
export async function openScene(
  { stage, server, quick, seed, machine }: Plan,
  publicBytes = 0,
): Promise<Scene> {
  const options = { plan: fullPlan, nodeFlags: [], everything: false, etcd: false };
  const lab: Lab = { ...options, stage, server, quick };
  // As the units and the supervisor set it: glibc would keep what a flood has taken.
  const environment = {
    MALLOC_TRIM_THRESHOLD_: "131072",
    MALLOC_MMAP_THRESHOLD_: "32768",
    // The bounds of a server as it is shipped; experiments of the bench have wider ones.
    MOORING_MAX_CUSTOM_SETTINGS: "2000",
    MOORING_MAX_SETTINGS: "8MiB",
  };
  const tickFile = join(stage.folder(), "ticks");
  writeFileSync(tickFile, "");
  const mooring = await startMooring(lab, {
    environment: { ...environment, ATTACK_TICKS: tickFile },
    nodeFlags: [`--import=${longestTick}`],
  });
  const ticks = readTicks(tickFile);
  const { port, token } = mooring;
  if (publicBytes > 0) await saveSetting(mooring, "customize_head", publicBytes);
  const controlPort = await freePort();
  const command = { program: process.execPath, args: [control, `${controlPort}`] };
  const beside = stage.start({ ...command, cores: SERVER_CORE });
  await until(
    () => accepts(controlPort),
    () => `the control does not start: ${beside.tail()}`,
  );
  const witness = startWitness({ port, token, save: saveOf("site_title", 20), controlPort });
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
      // What was left unfinished is dealt with now.
      await sleep(500);
      const during = await witness.look();
      const recovery = await recovered(resident, goal);
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
      const stays = after > goal ? [`memory stays at ${after.toFixed(0)} MB`] : [];
      return { ...measured, broken: [...brokenBounds(attack, measured, machine), ...stays] };
    },
    close: async () => {
      witness.close();
      await Promise.all([mooring.server.stop(), beside.stop()]);
    },
  };
}

/** The bounds that did not hold, a sentence each. */
export function brokenBounds(
  { bounds }: Pick<AttackCase, "bounds">,
  { before, during, memory }: Pick<Outcome, "before" | "during" | "memory">,
  machine: Machine = "own",
): string[] {
  const broken: string[] = [];
  const grown = memory.peak - memory.before;
  if (grown > bounds.memory * GROWTH[machine]) broken.push(`memory grew by ${grown.toFixed(0)} MB`);
  // A machine with other work to do is slow to everybody.
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

/** Runs the attack in a process of its own. @returns what it says that it did. */
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

/** Watches memory and ticks from now on, by the parts of an attack. */
function watchParts(resident: () => number, ticks: () => readonly number[]) {
  let part = "";
  let memory: Worst = { value: resident(), part };
  // Ticks of before are nothing of this attack.
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

/** Reads what `longest-tick.ts` has written. @returns a function with the ticks since its last call. */
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

function saveOf(key: string, bytes: number): string {
  return JSON.stringify([{ key, value: "v".repeat(bytes) }]);
}

async function saveSetting({ port, token }: Mooring, key: string, bytes: number): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${port}/api/admin/setting/save`, {
    method: "POST",
    headers: { authorization: token, "content-type": "application/json" },
    body: saveOf(key, bytes),
  });
  const { code, message } = (await reply.json()) as { code: number; message: string };
  if (code !== 200) throw new Error(`cannot save ${key}: ${message}`);
}
