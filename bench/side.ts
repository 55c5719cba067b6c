import { coreMicros, cpuMicros } from "./proc.ts";
import { type Running, SERVER_CORE } from "./stage.ts";

/** What a load generator reports. */
export interface LoadResult {
  /** Requests that were answered, or items that were written. */
  readonly requests: number;
  readonly seconds: number;
  /** Bytes received for one reply, heads and framing included. */
  readonly wireBytes?: number;
  readonly medianMillis?: number;
  readonly p99Millis?: number;
}

/** Puts load on a server for that many seconds. */
export type Load = (seconds: number) => Promise<LoadResult>;

/** One round of one side. */
export interface Round extends LoadResult {
  readonly perSecond: number;
  /** CPU time of the server for one request, in microseconds. */
  readonly cpuPerRequest: number;
  /** Share of one core that the server used, 0 to 1. */
  readonly busy: number;
  /** Share of the server's core that other programs used; it should be next to nothing. */
  readonly others: number;
}

/** A figure of a round that sides are compared by. */
export type Measure = "perSecond" | "cpuPerRequest" | "medianMillis";

/** Mooring or one of its yardsticks, under the load of a contest. */
export interface Side {
  readonly name: string;
  /** Bytes of the reply's body or message; absent where nothing is read. */
  readonly payloadBytes?: number;
  readonly server?: Running;
  run(seconds: number): Promise<Round>;
}

/** A side that is a server with a load on it. */
export function serverSide(name: string, server: Running, load: Load, payloadBytes?: number): Side {
  return {
    name,
    server,
    ...(payloadBytes === undefined ? {} : { payloadBytes }),
    run: async (seconds) => {
      server.assertAlive();
      const before = cpuMicros(server.pid);
      const coreBefore = coreMicros(SERVER_CORE);
      const result = await load(seconds);
      const used = cpuMicros(server.pid) - before;
      const coreUsed = coreMicros(SERVER_CORE) - coreBefore;
      server.assertAlive();
      return roundOf(result, used, coreUsed - used);
    },
  };
}

/**
 * @param used CPU time of the server in the round, in microseconds.
 * @param usedByOthers the same of other programs on its core.
 */
export function roundOf(result: LoadResult, used: number, usedByOthers = 0): Round {
  if (result.requests === 0) throw new Error("not one request was answered");
  return {
    ...result,
    perSecond: result.requests / result.seconds,
    cpuPerRequest: used / result.requests,
    busy: used / 1_000_000 / result.seconds,
    others: Math.max(0, usedByOthers / 1_000_000 / result.seconds),
  };
}
