import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { serveRoutes } from "../../wire/serve-routes.ts";
import { conformanceRoutes, registry } from "./service.ts";

const built = new URL("build/gen/connectrpc/conformance/v1/server_compat_pb.js", import.meta.url);
const { ServerCompatRequestSchema, ServerCompatResponseSchema } = (await import(
  built.href
)) as Record<"ServerCompatRequestSchema" | "ServerCompatResponseSchema", DescMessage>;

/** Servers for the conformance runner: one for each connection, until the connection ends. */
export interface ConformanceServers {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves the conformance service through the transports of the program. The runner sends its
 * request on a connection and gets the address; both are messages after their length in four bytes.
 */
export async function startServers(): Promise<ConformanceServers> {
  const running = new Set<Promise<void>>();
  const server = createServer((socket) => {
    const ended = serve(socket).finally(() => running.delete(ended));
    running.add(ended);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close();
      await Promise.all(running);
    },
  };
}

async function serve(socket: Socket): Promise<void> {
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  const request = fromBinary(ServerCompatRequestSchema, await readMessage(socket));
  const { messageReceiveLimit: maxBytes } = request as unknown as { messageReceiveLimit: number };
  const served = await serveRoutes(conformanceRoutes, {
    registry,
    ...(maxBytes === 0 ? {} : { maxBytes }),
  });
  const place = create(ServerCompatResponseSchema, { host: "127.0.0.1", port: served.port });
  const bytes = toBinary(ServerCompatResponseSchema, place);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  socket.write(Buffer.concat([length, bytes]));
  await closed;
  await served.close();
}

function readMessage(socket: Socket): Promise<Buffer> {
  let read: Buffer = Buffer.alloc(0);
  return new Promise((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      read = Buffer.concat([read, chunk]);
      if (read.length < 4 || read.length < 4 + read.readUInt32BE(0)) return;
      resolve(read.subarray(4, 4 + read.readUInt32BE(0)));
    });
  });
}
