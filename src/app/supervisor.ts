import cluster, { type Worker } from "node:cluster";
import { once } from "node:events";
import type { Address } from "../transport/listen.ts";
import { umaskFor } from "../transport/listen.ts";
import { MALLOC, NODE_FLAGS } from "./memory-settings.ts";

/** A worker that ends sooner than this after its start is not replaced at once, in milliseconds. */
const QUICK_END = 1_000;
/** First pause before such a worker is replaced; it doubles up to the longest. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;

/** Messages between a worker and its supervisor. */
type Message =
  | { readonly mooring: "ready"; readonly address: string }
  | { readonly mooring: "stop" };

export interface SupervisorOptions {
  readonly workers: number;
  /** Listening addresses of the workers. */
  readonly ports: WorkerPorts;
  /** Permission bits of Unix sockets, which this process makes for its workers. */
  readonly socketMode: number;
  readonly onNotice: (event: string, facts: Record<string, unknown>) => void;
}

/** Listening addresses of workers, instead of the configured ones. */
export interface WorkerPorts {
  readonly listen: Address;
  readonly grpcListen?: Address | undefined;
}

/** Worker processes behind one port. */
export interface Supervisor {
  /**
   * Address reported by the first worker, once all of them serve. Rejects if a worker ends before
   * that, after it has reported the reason; never settles if the workers are stopped before.
   */
  readonly serving: Promise<string>;
  /** Stops serving workers gracefully, and ends starting ones. */
  stop(): Promise<void>;
}

/**
 * Starts worker processes that share the listening sockets, from which each accepts for itself
 * (decision 0011): a connection belongs to its worker and ends with it. The first one starts alone,
 * so that a new database is created once and a mistake is reported once. A worker that dies is
 * replaced.
 */
export function startWorkers(options: SupervisorOptions): Supervisor {
  const { workers, ports, socketMode, onNotice } = options;
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  cluster.setupPrimary({ execArgv: [...process.execArgv, ...NODE_FLAGS] });
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
      onNotice("worker ended; starting a replacement", {
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
        // Ends a worker that does not receive messages yet; after the message the signal is
        // ignored.
        worker.process.kill("SIGTERM");
        worker.send({ mooring: "stop" } satisfies Message, () => undefined);
      }
      await Promise.all(ended);
    },
  };
}

/** Whether this process is a worker. */
export const isWorker = cluster.isWorker;

/** Environment variable of the worker that logs common events (see speaksForAll). */
const ROLE = "WORKER_ROLE";
const SPEAKER = "speaker";

const PORTS = "WORKER_PORTS";

/** For a worker: its listening addresses. */
export function workerPorts(): WorkerPorts {
  return JSON.parse(process.env[PORTS] ?? "") as WorkerPorts;
}

/**
 * Whether this process logs the events that every worker observes, such as a changed settings file:
 * one of the workers does, or the only process.
 */
export const speaksForAll = !cluster.isWorker || process.env[ROLE] === SPEAKER;

/** For a worker: reports to the supervisor that it serves. */
export function reportReady(address: string): void {
  process.send?.({ mooring: "ready", address } satisfies Message);
}

/**
 * For a worker: calls `stop` on the supervisor's message or end. Signals of a terminal reach every
 * process of the group; only the supervisor acts on them.
 */
export function stopOnSupervisor(stop: () => void): void {
  process.on("message", (message: Message) => {
    if (message.mooring === "stop") stop();
  });
  process.on("disconnect", stop);
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => undefined);
}
