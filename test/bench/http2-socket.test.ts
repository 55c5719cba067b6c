import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { framed } from "../../bench/call.ts";
import { grpcHead, openHttp2Socket } from "../../bench/load/http2-socket.ts";

const PATH = "/test.Echo/Call";
const bytes = (message: Buffer) => message;
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.forceShutdown();
});

/** A grpc-js server with one method that echoes its request, or fails when it is empty. */
async function startEcho(): Promise<number> {
  const server = new Server();
  servers.push(server);
  const method = {
    path: PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  } as const;
  const echo: handleUnaryCall<Buffer, Buffer> = ({ request }, answer) =>
    request.length === 0 ? answer({ code: 3, details: "empty" }) : answer(null, request);
  server.addService({ call: method }, { call: echo });
  return new Promise((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    ),
  );
}

/** Sends the bodies in sequence and returns the data of each stream. */
async function exchange(bodies: readonly Buffer[]): Promise<Buffer[]> {
  const port = await startEcho();
  const replies = new Map<number, Buffer[]>();
  let ended: (reset: boolean) => void = () => {};
  const socket = await openHttp2Socket(port, grpcHead(port, PATH, "t".repeat(200)), {
    data: (stream, body) =>
      replies.set(stream, [...(replies.get(stream) ?? []), Buffer.from(body)]),
    end: (_stream, reset) => ended(reset),
    close: () => ended(true),
  });
  const received: Buffer[] = [];
  for (const body of bodies) {
    const done = new Promise<boolean>((resolve) => {
      ended = resolve;
    });
    const stream = socket.send(framed(body));
    expect(await done).toBe(false);
    received.push(Buffer.concat(replies.get(stream) ?? []));
  }
  socket.close();
  return received;
}

describe("the HTTP/2 client of the benchmarks", () => {
  it("exchanges gRPC messages with grpc-js, many on one connection", async () => {
    const bodies = Array.from({ length: 300 }, (_, index) => Buffer.from(`message ${index}`));
    expect(await exchange(bodies)).toEqual(bodies.map(framed));
  });

  it("joins long replies from their frames", async () => {
    const long = Buffer.alloc(16_000, "x");
    expect(await exchange([long])).toEqual([framed(long)]);
  });

  it("reports a failed call as a stream without a message", async () => {
    expect(await exchange([Buffer.alloc(0)])).toEqual([Buffer.alloc(0)]);
  });
});
