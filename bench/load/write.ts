// Unary gRPC calls with changing bodies, one at a time per client, by a process of its own: neither
// wrk nor h2load can change a binary body.
import { fileURLToPath } from "node:url";
import type { Load, LoadResult } from "../contest.ts";
import { LOAD_CORE, type Stage } from "../stage.ts";
import { quantile } from "../statistics.ts";
import { grpcHead, openHttp2Socket } from "./http2-socket.ts";

/** Placeholder in a frame for the number of each call. */
export const COUNTER = "#".repeat(16);

/** Unary gRPC calls with a changing body. */
export interface WriteJob {
  readonly port: number;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly token?: string;
  /** Framed request for each client and connection, in base64, with one COUNTER. */
  readonly frames: readonly string[];
}

/** Load of one client per frame, each with one call at a time. */
export function writeLoad(stage: Stage, job: WriteJob): Load {
  return async (seconds) => {
    const output = await stage.run({
      program: process.execPath,
      args: [fileURLToPath(import.meta.url), JSON.stringify({ ...job, seconds })],
      cores: LOAD_CORE,
    });
    return JSON.parse(output) as LoadResult;
  };
}

/** Makes the calls and prints the result as JSON. */
async function makeCalls(job: WriteJob & { readonly seconds: number }): Promise<void> {
  const times: number[] = [];
  // A value that differs from those of earlier rounds.
  let counter = Date.now() * 1_000;
  const connections = await Promise.all(job.frames.map(() => openConnection(job)));
  const began = performance.now();
  const deadline = began + job.seconds * 1_000;
  const client = async ({ call }: Connection, index: number): Promise<void> => {
    const frame = Buffer.from(job.frames[index] ?? "", "base64");
    const at = frame.indexOf(COUNTER);
    while (performance.now() < deadline) {
      frame.write(String(counter++).padStart(COUNTER.length, "0"), at, "latin1");
      const sent = performance.now();
      await call(Buffer.from(frame));
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(connections.map(client));
  const seconds = (performance.now() - began) / 1_000;
  for (const { close } of connections) close();
  const [medianMillis, p99Millis] = [quantile(times, 0.5), quantile(times, 0.99)];
  process.stdout.write(
    JSON.stringify({
      requests: times.length,
      seconds,
      medianMillis,
      p99Millis,
    } satisfies LoadResult),
  );
}

interface Connection {
  /** Resolves once the call has succeeded. */
  call(frame: Buffer): Promise<void>;
  close(): void;
}

interface Waiting {
  resolve(): void;
  reject(reason: Error): void;
  answered: boolean;
}

/** A reply without a message is a failed call. */
async function openConnection({ port, path, token }: WriteJob): Promise<Connection> {
  const waiting = new Map<number, Waiting>();
  const socket = await openHttp2Socket(port, grpcHead(port, path, token), {
    data: (stream) => {
      const one = waiting.get(stream);
      if (one !== undefined) one.answered = true;
    },
    end: (stream, reset) => {
      const one = waiting.get(stream);
      waiting.delete(stream);
      if (one?.answered === true && !reset) one.resolve();
      else one?.reject(new Error("a call failed"));
    },
    close: (reason) => {
      for (const one of waiting.values()) one.reject(new Error(reason));
    },
  });
  return {
    call: (frame) =>
      new Promise((resolve, reject) => {
        waiting.set(socket.send(frame), { resolve, reject, answered: false });
      }),
    close: socket.close,
  };
}

if (import.meta.main) await makeCalls(JSON.parse(process.argv[2] ?? ""));
