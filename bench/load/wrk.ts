import { fileURLToPath } from "node:url";
import type { HttpRequest } from "../call.ts";
import type { Load, LoadResult } from "../contest.ts";
import { LOAD_CORE, type Stage } from "../stage.ts";

/** Request that wrk repeats on each of its connections. */
export interface WrkJob extends HttpRequest {
  /** The markers of `wrk.lua` are replaced in it in each request, if there are clients. */
  readonly body?: string;
  readonly clients?: number;
  /** Keep-alive connections, 32 by default. */
  readonly connections?: number;
}

const script = fileURLToPath(new URL("wrk.lua", import.meta.url));

/** Creates load by wrk, over HTTP/1.1 without pipelining. */
export function wrkLoad(stage: Stage, job: WrkJob): Load {
  const { port, path, method = "GET", headers = {}, body, clients, connections = 32 } = job;
  const environment = {
    BENCH_METHOD: method,
    BENCH_HEADERS: Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n"),
    ...(body !== undefined && { BENCH_BODY: body }),
    ...(clients !== undefined && { BENCH_CLIENTS: String(clients) }),
  };
  return async (seconds) => {
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "-s", script];
    const output = await stage.run({
      program: "wrk",
      args: [...args, `http://127.0.0.1:${port}${path}`],
      environment,
      cores: LOAD_CORE,
    });
    return parseWrk(output);
  };
}

/** Parses the output of the script. @throws Error when a request failed. */
export function parseWrk(output: string): LoadResult {
  const line = /^BENCH (\{.*\})$/m.exec(output)?.[1];
  if (line === undefined) throw new Error(`wrk printed no result:\n${output}`);
  const { requests = 0, micros = 0, bytes = 0, failed, p50 = 0 } = JSON.parse(line);
  if (failed !== 0) throw new Error(`${failed} of wrk's ${requests} requests failed`);
  return {
    requests,
    seconds: micros / 1_000_000,
    wireBytes: bytes / Math.max(1, requests),
    medianMillis: p50 / 1_000,
  };
}
