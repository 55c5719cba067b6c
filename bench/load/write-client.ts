// A program: makes unary gRPC calls whose body changes each time, one at a time on each connection,
// and prints the result as JSON. Neither wrk nor h2load can change a binary body.
import { quantile } from "../statistics.ts";
import { grpcHead } from "./grpc-head.ts";
import { openHttp2Socket } from "./http2-socket.ts";
import { COUNTER, type WriteJob } from "./write.ts";

const job = JSON.parse(process.argv[2] ?? "") as WriteJob & { readonly seconds: number };
const head = grpcHead(job.port, job.path, job.token);
const times: number[] = [];
// A value that no earlier round has written.
let counter = Date.now() * 1_000;

const began = performance.now();
const deadline = began + job.seconds * 1_000;
await Promise.all(job.frames.map((frame) => client(Buffer.from(frame, "base64"))));
const seconds = (performance.now() - began) / 1_000;
process.stdout.write(
  JSON.stringify({
    requests: times.length,
    seconds,
    medianMillis: quantile(times, 0.5),
    p99Millis: quantile(times, 0.99),
    clientBusy: (process.cpuUsage().user + process.cpuUsage().system) / 1_000_000 / seconds,
  }),
);

/** Calls again and again until the deadline. A reply without a message is a failed call. */
async function client(frame: Buffer): Promise<void> {
  const at = frame.indexOf(COUNTER);
  let answered = false;
  let finish: (failure?: string) => void = () => {};
  const socket = await openHttp2Socket(job.port, head, {
    data: () => {
      answered = true;
    },
    end: (_stream, reset) => finish(reset || !answered ? "a call failed" : undefined),
    close: (reason) => finish(reason),
  });
  while (performance.now() < deadline) {
    frame.write(String(counter++).padStart(COUNTER.length, "0"), at, "latin1");
    const sent = performance.now();
    await new Promise<void>((resolve, reject) => {
      answered = false;
      finish = (failure) => (failure === undefined ? resolve() : reject(new Error(failure)));
      socket.send(Buffer.from(frame));
    });
    times.push(performance.now() - sent);
  }
  socket.close();
}
