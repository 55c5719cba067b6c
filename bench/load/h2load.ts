import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { framed } from "../call.ts";
import type { Load, LoadResult } from "../contest.ts";
import { LOAD_CORE, type Stage } from "../stage.ts";

/** Unary gRPC call that h2load repeats. */
export interface H2loadJob {
  readonly port: number;
  /** `/package.Service/Method`. */
  readonly path: string;
  /** The request's message. */
  readonly body: Uint8Array;
  readonly token?: string;
  /** Length of the reply's message: every reply must have it. */
  readonly replyBytes: number;
}

/** Connections, and calls in flight on each of them. */
const CONNECTIONS = 4;
const STREAMS = 8;

/** Creates load by h2load, over HTTP/2 without TLS and with prior knowledge. */
export function h2loadLoad(stage: Stage, job: H2loadJob): Load {
  const data = join(stage.folder(), "request");
  writeFileSync(data, framed(job.body));
  const authorization = job.token === undefined ? [] : ["-H", `authorization: ${job.token}`];
  return async (seconds) => {
    const output = await stage.run({
      program: "h2load",
      args: [
        "-t1",
        `-c${CONNECTIONS}`,
        `-m${STREAMS}`,
        `-D${seconds}`,
        "--warm-up-time=0",
        "-H",
        "content-type: application/grpc",
        "-H",
        "te: trailers",
        ...authorization,
        "-d",
        data,
        `http://127.0.0.1:${job.port}${job.path}`,
      ],
      cores: LOAD_CORE,
    });
    return parseH2load(output, seconds, 5 + job.replyBytes);
  };
}

/**
 * Reads h2load's summary.
 *
 * gRPC failures have HTTP status 200, so they are detected by their missing message: the bytes of
 * all messages must match the number of successful replies.
 *
 * @param replyBytes length of one reply's message with its frame.
 * @throws Error when calls failed.
 */
export function parseH2load(output: string, seconds: number, replyBytes: number): LoadResult {
  const figure = (pattern: RegExp): number => {
    const found = pattern.exec(output)?.[1];
    if (found === undefined) throw new Error(`h2load printed no ${pattern.source}:\n${output}`);
    return Number(found);
  };
  const requests = figure(/(\d+) succeeded/);
  const data = figure(/\((\d+)\) data/);
  // Calls in flight at the end have sent part of their reply and are not counted.
  const unfinished = (data - requests * replyBytes) / replyBytes;
  if (unfinished < 0 || unfinished > CONNECTIONS * STREAMS)
    throw new Error(
      `h2load got ${data} bytes for ${requests} replies of ${replyBytes}: calls failed`,
    );
  return { requests, seconds, wireBytes: figure(/\((\d+)\) total/) / Math.max(1, requests) };
}
