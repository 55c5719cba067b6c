import { fileURLToPath } from "node:url";
import type { Load, LoadResult } from "../contest.ts";
import { LOAD_CORE, type Stage } from "../stage.ts";

/** Request that wrk repeats on each of its connections. */
export interface WrkJob {
  readonly port: number;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Keep-alive connections, 32 by default. */
  readonly connections?: number;
  /** Processors to run on, the load generators' own by default. */
  readonly cores?: string;
}

const script = fileURLToPath(new URL("wrk.lua", import.meta.url));

/** Creates load by wrk, over HTTP/1.1 without pipelining. */
export function wrkLoad(stage: Stage, job: WrkJob): Load {
  const { port, path, method = "GET", headers = {}, body, connections = 32 } = job;
  const environment = {
    BENCH_METHOD: method,
    BENCH_HEADERS: Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
    ...(body === undefined ? {} : { BENCH_BODY: body }),
  };
  return async (seconds) => {
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script];
    const output = await stage.run({
      program: "wrk",
      args: [...args, `http://127.0.0.1:${port}${path}`],
      environment,
      cores: job.cores ?? LOAD_CORE,
    });
    return parseWrk(output);
  };
}

/** Parses the output of the script. @throws Error when a request failed. */
export function parseWrk(output: string): LoadResult {
  const line = /^BENCH (\{.*\})$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk printed no result:\n${output}`);
  const { requests, micros, bytes, failed, p50, p99 } = JSON.parse(line) as Record<string, number>;
  if (requests === undefined || micros === undefined || bytes === undefined)
    throw new Error(`wrk's result lacks a figure: ${line}`);
  if (failed !== 0) throw new Error(`${failed} of wrk's ${requests} requests failed`);
  return {
    requests,
    seconds: micros / 1_000_000,
    wireBytes: bytes / Math.max(1, requests),
    medianMillis: (p50 ?? Number.NaN) / 1_000,
    p99Millis: (p99 ?? Number.NaN) / 1_000,
  };
}
