import { once } from "node:events";
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGrpcJs } from "../../src/transport/grpc-js.ts";

const bytes = (value: Buffer): Buffer => value;
const method = (name: string, isStream: boolean) => ({
  path: `/test.Test/${name}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
});
const service = {
  Echo: method("Echo", false),
  Fail: method("Fail", false),
  Flow: method("Flow", true),
};

const cancelled = Promise.withResolvers<void>();
const library = new Server();
library.addService(service, {
  Echo: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
    const trailer = new Metadata();
    trailer.set("seen", String(call.metadata.get("asked")[0] ?? ""));
    reply(null, call.request, trailer);
  },
  Fail: (_call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
    const metadata = new Metadata();
    metadata.set("why", "the test");
    reply({ code: status.FAILED_PRECONDITION, details: "ä%", metadata });
  },
  Flow: (stream: ServerDuplexStream<Buffer, Buffer>) => {
    stream.on("cancelled", () => cancelled.resolve());
    stream.on("data", (size: Buffer) => stream.write(Buffer.alloc(Number(size.toString()))));
    stream.on("end", () => stream.end());
  },
});

const server = createServer();
const grpcJs = createGrpcJs(async () => ({
  injector: library.createConnectionInjector(ServerCredentials.createInsecure()),
  close: () => library.forceShutdown(),
}));
server.on("stream", (stream, headers) => {
  stream.on("error", () => undefined);
  grpcJs.pass(stream as ServerHttp2Stream, headers);
});

let client: Client;
let address: string;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new Client(address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
});

afterAll(async () => {
  client.close();
  grpcJs.close();
  server.close();
});

/** Calls a unary method. @returns the reply or the error, with the trailers. */
function call(path: string, body: Buffer, metadata = new Metadata()) {
  return new Promise<{ error: ServiceError | null; reply?: Buffer; trailers?: Metadata }>(
    (resolve) => {
      let result: { error: ServiceError | null; reply?: Buffer } = { error: null };
      const sent = client.makeUnaryRequest(path, bytes, bytes, body, metadata, (error, reply) => {
        result = { error, ...(reply === undefined ? {} : { reply }) };
      });
      sent.on("status", ({ metadata: trailers }) =>
        setImmediate(() => resolve({ ...result, trailers })),
      );
    },
  );
}

const flow = () => client.makeBidiStreamRequest("/test.Test/Flow", bytes, bytes);

test.each([0, 1, 100_000, 3_000_000])(
  "a message of %d bytes passes in both directions",
  async (size) => {
    const metadata = new Metadata();
    metadata.set("asked", "here");
    const { reply, trailers } = await call("/test.Test/Echo", Buffer.alloc(size, 7), metadata);
    expect(reply?.equals(Buffer.alloc(size, 7))).toBe(true);
    expect(trailers?.get("seen")).toEqual(["here"]);
  },
);

test("an error has its code, its message and its trailers", async () => {
  const { error } = await call("/test.Test/Fail", Buffer.alloc(0));
  expect(error?.code).toBe(status.FAILED_PRECONDITION);
  expect(error?.details).toBe("ä%");
  expect(error?.metadata.get("why")).toEqual(["the test"]);
});

test("an unknown method is UNIMPLEMENTED", async () => {
  const { error } = await call("/test.Test/Nothing", Buffer.alloc(0));
  expect(error?.code).toBe(status.UNIMPLEMENTED);
});

test("messages of a stream pass one by one, and its end ends the call", async () => {
  const stream = flow();
  for (const size of ["1", "20000", "3"]) {
    stream.write(Buffer.from(size));
    const [message] = (await once(stream, "data")) as [Buffer];
    expect(message.length).toBe(Number(size));
  }
  stream.end();
  const [{ code }] = await once(stream, "status");
  expect(code).toBe(status.OK);
});

test("a call that its client cancels is cancelled", async () => {
  const stream = flow();
  stream.on("error", () => undefined);
  stream.write(Buffer.from("1"));
  await once(stream, "data");
  stream.cancel();
  await cancelled.promise;
});

test("a client that disconnects ends its calls, and one that does not read delays no other", async () => {
  const lazy = connect(`http://${address}`);
  const open = openRaw(lazy);
  open.write(framed(Buffer.from("5000000")));
  await once(open, "response");
  const { reply } = await call("/test.Test/Echo", Buffer.from("still"));
  expect(reply?.toString()).toBe("still");
  lazy.destroy();
  const { reply: again } = await call("/test.Test/Echo", Buffer.from("again"));
  expect(again?.toString()).toBe("again");
});

function openRaw(session: ClientHttp2Session) {
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/test.Test/Flow",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  session.on("error", () => undefined);
  return stream;
}

function framed(body: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(body.length, 1);
  return Buffer.concat([prefix, body]);
}
