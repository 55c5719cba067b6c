import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import type { Address } from "../transport/listen.ts";
import { umaskFor } from "../transport/listen.ts";

/** A worker that ends sooner than this after its start is not replaced at once, in milliseconds. */
const QUICK_END = 1_000;
/** How long the replacement of such a worker waits, doubled each time, up to the longest. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;

/**
 * Set at all, the first keeps glibc from raising it with each large buffer that is freed, and what a
 * flood of requests has taken goes back to the system (mallopt(3), M_TRIM_THRESHOLD). By the second the
 * buffers that connections are read into stand apart, and leave no gaps behind (M_MMAP_THRESHOLD). In
 * bytes.
 */
const MALLOC = { MALLOC_TRIM_THRESHOLD_: "131072", MALLOC_MMAP_THRESHOLD_: "32768" };

/** What a worker and its supervisor tell each other. */
type Message =
  | { readonly mooring: "ready"; readonly address: string }
  | { readonly mooring: "stop" };

export interface SupervisorOptions {
  readonly workers: number;
  /** Ports that were chosen for them. */
  readonly ports: WorkerPorts;
  /** Permission bits of Unix sockets, which this process makes for its workers. */
  readonly socketMode: number;
  readonly onNotice: (event: string, facts: Record<string, unknown>) => void;
}

/** Where workers listen, in place of what is configured. */
export interface WorkerPorts {
  readonly listen: Address;
  readonly grpcListen?: Address | undefined;
}

/** Worker processes behind one port. */
export interface Supervisor {
  /**
   * Where they listen, as the first one said it, once all of them serve. Rejects when one ends before
   * that, having said why itself; when they are stopped before, it never settles.
   */
  readonly serving: Promise<string>;
  /** Lets those that serve end in order, and ends those that still start. */
  stop(): Promise<void>;
}

/**
 * Starts worker processes that share the listening sockets, from which each accepts for itself
 * (decision 0011): a connection is known to nobody but its worker, and ends with it. The first one
 * starts alone, so that a new database is made once and a mistake is said once. A worker that dies
 * is replaced.
 */
export function startWorkers(options: SupervisorOptions): Supervisor {
  const { workers, ports, socketMode, onNotice } = options;
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  let stopping = false;
  let pause = FIRST_PAUSE;
  const usual = process.umask(umaskFor(socketMode));

  /** @param speaks see speaksForAll. */
  const start = (speaks: boolean): Worker => {
    process.umask(usual);
    const own = { [ROLE]: speaks ? SPEAKER : "", [PORTS]: JSON.stringify(ports) };
    const worker = cluster.fork({ ...MALLOC, ...own });
    process.umask(umaskFor(socketMode));
    const started = performance.now();
    worker.on("exit", (code, signal) => {
      if (stopping) return;
      const quick = performance.now() - started < QUICK_END;
      const delay = quick ? pause : 0;
      pause = quick ? Math.min(pause * 2, LONGEST_PAUSE) : FIRST_PAUSE;
      onNotice("worker ended; a new one takes its place", {
        worker: worker.process.pid,
        code,
        signal,
        delay,
      });
      setTimeout(() => {
        if (!stopping) start(speaks);
      }, delay);
    });
    return worker;
  };

  const firstReady = (worker: Worker): Promise<string> =>
    new Promise((resolve, reject) => {
      worker.on("message", (message: Message) => {
        if (message.mooring === "ready" && !stopping) resolve(message.address);
      });
      worker.once("exit", () => {
        if (!stopping) reject(new Error("a worker could not start"));
      });
    });
  const startAll = async (): Promise<string> => {
    const address = await firstReady(start(true));
    const others = Array.from({ length: workers - 1 }, () => start(false));
    await Promise.all(others.map(firstReady));
    return address;
  };
  return {
    serving: startAll(),
    stop: async () => {
      stopping = true;
      const running = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
      const ended = running.map((worker) => once(worker, "exit"));
      for (const worker of running) {
        // It ends one that does not hear the message yet; whoever hears that does not heed the signal.
        worker.process.kill("SIGTERM");
        worker.send({ mooring: "stop" } satisfies Message, () => undefined);
      }
      await Promise.all(ended);
    },
  };
}

/** For a worker: whether this process is one. */
export const isWorker = cluster.isWorker;

/** Tells a worker whether it speaks for all. */
const ROLE = "WORKER_ROLE";
const SPEAKER = "speaker";

const PORTS = "WORKER_PORTS";

/** For a worker: where it listens. */
export function workerPorts(): WorkerPorts {
  return JSON.parse(process.env[PORTS] ?? "") as WorkerPorts;
}

/**
 * Whether this process logs what every worker notices alike, such as a changed settings file: one of
 * the workers does, or the only process.
 */
export const speaksForAll = !cluster.isWorker || process.env[ROLE] === SPEAKER;

/** For a worker: tells the supervisor that it serves. */
export function reportReady(address: string): void {
  process.send?.({ mooring: "ready", address } satisfies Message);
}

/**
 * For a worker: calls `stop` when the supervisor says so, or is gone. Signals of a terminal reach
 * every process of the group; the supervisor alone acts on them.
 */
export function stopOnSupervisor(stop: () => void): void {
  process.on("message", (message: Message) => {
    if (message.mooring === "stop") stop();
  });
  process.on("disconnect", stop);
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => undefined);
}
