import { type Agent, type IncomingHttpHeaders, request } from "node:http";
import { Client, credentials, Metadata } from "@grpc/grpc-js";

/** HTTP/1.1 request to 127.0.0.1. */
export interface HttpRequest {
  readonly port: number;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Default: the request has a connection of its own. */
  readonly agent?: Agent;
}

/** Time limit of a request, in milliseconds. */
const PATIENCE = 60_000;

/** Reply to an HTTP/1.1 request. */
export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in their original form and order. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** Sends one request. */
export function callHttp(call: HttpRequest): Promise<HttpReply> {
  const { port, path, method = "GET", headers = {}, body, agent = false } = call;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(PATIENCE);
    const options = { host: "127.0.0.1", port, path, method, headers, agent, signal };
    const sent = request(options, (reply) => {
      const parts: Buffer[] = [];
      reply.on("data", (part: Buffer) => parts.push(part));
      reply.on("error", reject);
      reply.on("end", () =>
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          rawHeaders: reply.rawHeaders,
          body: Buffer.concat(parts),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Encoded unary call to 127.0.0.1. */
export interface GrpcRequest {
  readonly port: number;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly body: Uint8Array;
  readonly token?: string;
}

/** Makes one call over its own connection. Rejects with a status other than OK. */
export async function callGrpc({ port, path, body, token }: GrpcRequest): Promise<Buffer> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": -1,
  });
  const metadata = new Metadata();
  if (token !== undefined) metadata.set("authorization", token);
  const bytes = (message: Buffer) => message;
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, bytes, bytes, Buffer.from(body), metadata, (error, reply) => {
        if (error !== null) reject(error);
        else resolve(reply ?? Buffer.alloc(0));
      });
    });
  } finally {
    client.close();
  }
}

/** Path of a method in gRPC and Connect, such as `/package.Service/Method`. */
export function pathOf(method: {
  readonly parent: { readonly typeName: string };
  readonly name: string;
}): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** Frames a message for gRPC, without compression. */
export function framed(body: Uint8Array): Buffer {
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  frame.set(body, 5);
  return frame;
}
