// Test files share a process. Resources that one file leaves open disturb the next one, above all
// with a fake clock: each file stops its repeated jobs, servers, child processes and file watches.
import { createHook } from "node:async_hooks";
import { join, sep } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";

/**
 * Longest timer that may outlast its file, in milliseconds: it fires once, like that of
 * AbortSignal.timeout, which cannot be cleared. Repeated jobs are found for any interval.
 */
const LONGEST = 30_000;
/** Longest wait for resources that are closing, in milliseconds. */
const PATIENCE = 10_000;
/** Stack frames that are kept: those of a library may precede those of the project. */
const FRAMES = 40;
/** The same of a timer that fires once and soon: only a call in one of JOBS is looked for. */
const TIMER_FRAMES = 10;
const ROOT = join(import.meta.dirname, "..") + sep;
/** Files whose jobs repeat by timers that fire once. */
const JOBS = "src/periodic.ts";

/** Kinds by Node's name of a resource. */
const KINDS: Readonly<Record<string, string>> = {
  Timeout: "timer",
  TCPSERVERWRAP: "server",
  PIPESERVERWRAP: "server",
  UDPWRAP: "socket",
  PROCESSWRAP: "child process",
  FSEVENTWRAP: "file watch",
  STATWATCHER: "file watch",
  WORKER: "worker thread",
};

/** Members of Node's Timeout with its times, in milliseconds. */
interface Timer {
  hasRef(): boolean;
  readonly _destroyed?: boolean;
  readonly _idleTimeout?: number;
  readonly _repeat?: number | null;
}

interface Resource {
  readonly kind: string;
  readonly timer: Timer | undefined;
  /** Has the stack of its creation, which is formatted on access. */
  readonly start: Error;
}

const present = new Map<number, Resource>();

createHook({
  // Promises would be most of the hook's calls.
  trackPromises: false,
  init(id, type, _trigger, resource) {
    const kind = KINDS[type];
    const timer = type === "Timeout" ? (resource as Timer) : undefined;
    // Timers of sockets are the most, and Node's own: only it creates timers without a reference.
    if (kind === undefined || timer?.hasRef() === false) return;
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = timer === undefined || mayStay(timer) ? FRAMES : TIMER_FRAMES;
    present.set(id, { kind, timer, start: new Error() });
    Error.stackTraceLimit = limit;
  },
  destroy: (id) => void present.delete(id),
}).enable();

/**
 * Lists the resources that the file left open, with the places of their creation; first waits for
 * closing ones. Each is listed once, and not again for later files.
 */
export async function collectLeftovers(): Promise<string[]> {
  const fake = vi.isFakeTimers() ? ["fake timers"] : [];
  vi.useRealTimers();
  const end = performance.now() + PATIENCE;
  let left = [...present.values()].flatMap(describe);
  while (left.length > 0 && performance.now() < end) {
    await sleep(10);
    left = [...present.values()].flatMap(describe);
  }
  present.clear();
  return [...fake, ...left];
}

/** @returns undefined for permitted resources, and for timers of Node and of packages. */
function describe({ kind, timer, start }: Resource): string[] {
  const frames = (start.stack ?? "")
    .split("\n")
    .filter((line) => line.includes(ROOT) && !line.includes("test/leftovers"));
  const places = frames
    .filter((line) => !line.includes("node_modules"))
    .map((line) => line.trim().replace(ROOT, "").replace("file://", ""));
  if (timer === undefined) return [`${kind}: ${places.join(" < ") || "not started by a call"}`];
  if (places.length === 0 || frames[0]?.includes("node_modules")) return [];
  const { _destroyed: isOver, _idleTimeout: delay = 0 } = timer;
  if (isOver) return [];
  const isLeft = mayStay(timer) || places.some((place) => place.includes(JOBS));
  return isLeft ? [`${kind} of ${delay} ms: ${places.join(" < ")}`] : [];
}

/** Whether a timer that is not stopped repeats, or fires after the longest permitted time. */
function mayStay({ _repeat: period, _idleTimeout: delay = 0 }: Timer): boolean {
  return typeof period === "number" || delay > LONGEST;
}
