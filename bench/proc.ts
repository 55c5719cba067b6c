import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** Clock ticks per second in /proc/PID/stat: USER_HZ, 100 on every current Linux architecture. */
const TICKS_PER_SECOND = 100;

/** Statistics of one process (proc_pid_stat(5)). */
interface Stat {
  readonly pid: number;
  readonly parent: number;
  /** User and system time of all its threads, in microseconds. */
  readonly cpuMicros: number;
}

/** Ids of a process and its running descendants. */
export function processTree(pid: number): number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const stats = all.flatMap((name) => readStat(Number(name)) ?? []);
  const tree = [pid];
  for (const root of tree)
    tree.push(...stats.filter(({ parent }) => parent === root).map((child) => child.pid));
  return tree;
}

/** Kills a process and its descendants: workers of a server would continue to run. */
export function killTree(pid: number): void {
  for (const member of processTree(pid)) {
    try {
      process.kill(member, "SIGKILL");
    } catch {
      // The process has ended.
    }
  }
}

/** Reports whether a process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  const text = readText(`/proc/${pid}/stat`);
  const state = text.slice(text.lastIndexOf(")") + 2, text.lastIndexOf(")") + 3);
  return state !== "" && state !== "Z" && state !== "X";
}

/** CPU time of a process and its descendants, in microseconds since their starts. */
export function cpuMicros(pid: number): number {
  return sum(processTree(pid).map((member) => readStat(member)?.cpuMicros ?? 0));
}

/** Resident memory of a process and its descendants, in bytes. */
export function residentBytes(pid: number): number {
  return sum(processTree(pid).map(ownResidentBytes));
}

/** Resident memory of one process by its kind, in bytes. */
export interface ResidentParts {
  /** Heap, buffers and stacks. */
  readonly anonymous: number;
  /** Pages of programs and libraries; processes of one program share them. */
  readonly files: number;
}

/** Reads the parts of a process' resident memory (proc(5), RssAnon and RssFile). */
export function residentParts(pid: number): ResidentParts {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytesOf = (name: string): number =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]);
  return { anonymous: bytesOf("RssAnon"), files: bytesOf("RssFile") };
}

/** Highest resident memory of one process since its start or {@link resetPeak}, in bytes (proc(5), VmHWM). */
export function peakBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return 1024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
}

/** Makes the present resident memory of a process its peak (proc_pid_clear_refs(5)). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

function readStat(pid: number): Stat | undefined {
  const text = readText(`/proc/${pid}/stat`);
  // The second field is the program's name in brackets, which may contain spaces and brackets.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 20) return undefined;
  const ticks = Number(fields[11]) + Number(fields[12]);
  return { pid, parent: Number(fields[1]), cpuMicros: (ticks * 1_000_000) / TICKS_PER_SECOND };
}

function ownResidentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`))?.[1];
  return Number(kibibytes ?? 0) * 1024;
}

/** Content of a file; empty when the process has ended. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
