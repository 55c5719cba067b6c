// Program that makes unary gRPC calls with changing bodies, one at a time per client, and prints
// the result as JSON. Neither wrk nor h2load can change a binary body.
import { quantile } from "../statistics.ts";
import { grpcHead, openHttp2Socket } from "./http2-socket.ts";
import { COUNTER, type WriteJob } from "./write.ts";

const job = JSON.parse(process.argv[2] ?? "") as WriteJob & { readonly seconds: number };
const head = grpcHead(job.port, job.path, job.token);
const times: number[] = [];
// A value that differs from those of earlier rounds.
let counter = Date.now() * 1_000;

const connections = await Promise.all(job.frames.map(openConnection));
const began = performance.now();
const deadline = began + job.seconds * 1_000;
await Promise.all(job.frames.map((frame, at) => client(Buffer.from(frame, "base64"), at)));
const seconds = (performance.now() - began) / 1_000;
for (const { close } of connections) close();
process.stdout.write(
  JSON.stringify({
    requests: times.length,
    seconds,
    medianMillis: quantile(times, 0.5),
    p99Millis: quantile(times, 0.99),
  }),
);

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
async function openConnection(): Promise<Connection> {
  const waiting = new Map<number, Waiting>();
  const socket = await openHttp2Socket(job.port, head, {
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

/** Repeats calls until the deadline. */
async function client(frame: Buffer, index: number): Promise<void> {
  const at = frame.indexOf(COUNTER);
  const connection = connections[index];
  while (connection !== undefined && performance.now() < deadline) {
    frame.write(String(counter++).padStart(COUNTER.length, "0"), at, "latin1");
    const sent = performance.now();
    await connection.call(Buffer.from(frame));
    times.push(performance.now() - sent);
  }
}
