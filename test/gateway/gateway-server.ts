import { type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import { createHttpServer, type HttpServer } from "../../src/app/http-server.ts";
import { restContract } from "../../src/app/routes.ts";
import type { Call } from "../../src/gateway/call.ts";
import { type RestGatewayOptions, restGateway } from "../../src/gateway/gateway.ts";
import type { Method } from "../../src/gateway/method.ts";
import type { GatewayOptions } from "../../src/gateway/options.ts";
import { Buffered } from "../../src/transport/body.ts";
import { made } from "./contract.ts";

/** A reply as received. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  readonly text: string;
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: unknown;
}

/** A request to send; a string or Buffer body is sent unchanged, anything else as JSON. */
export interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A gateway on a real server on a loopback port. */
export interface GatewayServer {
  readonly port: number;
  readonly http: HttpServer;
  send(path: string, sent?: Sent): Promise<Reply>;
  close(): Promise<void>;
}

interface GatewayServerOptions extends Partial<RestGatewayOptions> {
  /** Origins whose pages may call. Default: none. */
  readonly origins?: "*" | readonly string[];
}

/**
 * Starts a server with only a gateway, with the options of Mooring's REST contract; request ids are
 * `id-1`, `id-2`, …
 */
export async function startGateway({
  origins = [],
  ...options
}: GatewayServerOptions): Promise<GatewayServer> {
  const http = await createHttp(options, origins);
  const { server } = http;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    http,
    send: (path, sent) => send(port, path, sent),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Starts a gateway that ends with its test. */
export async function gatewayOfTest(options: GatewayServerOptions): Promise<GatewayServer> {
  const gateway = await startGateway(options);
  onTestFinished(gateway.close);
  return gateway;
}

/** Creates the server of `startGateway`, which does not listen yet. */
export async function createHttp(
  options: Partial<RestGatewayOptions>,
  origins: "*" | readonly string[] = [],
): Promise<HttpServer> {
  let count = 0;
  const http = createHttpServer({
    requestId: () => `id-${++count}`,
    cors: { origins },
    maxHeaderBytes: 16_384,
    requestTimeoutMs: 30_000,
    report: (error, request) => options.report?.(error, request),
  });
  await http.fastify.register(restGateway, { methods: [], ...restContract, ...options });
  await http.fastify.ready();
  return http;
}

/** Bounds of bodies with this maximum length, and with others that no test reaches. */
export function bodiesOf(maxBytes: number): NonNullable<GatewayOptions["bounds"]> {
  return { buffered: new Buffered(64 * 2 ** 20), timeoutMs: 30_000, maxBytes };
}

/** Sends one request over a connection of its own. */
export function send(port: number, path: string, sent: Sent = {}): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const { method = "GET", headers = {} } = sent;
  const body = bodyOf(sent.body);
  const framing = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const all = { ...framing, ...headers };
  const outgoing = request({ host: "127.0.0.1", port, path, method, headers: all, agent: false });
  outgoing.on("error", reject);
  outgoing.on("response", (incoming) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", reject);
    incoming.on("end", () => {
      const raw = Buffer.concat(chunks);
      const { statusCode: status = 0, headers: received } = incoming;
      resolve({ status, headers: received, raw, text: raw.toString(), json: readJson(raw) });
    });
  });
  outgoing.end(body);
  return promise;
}

/** Fields of a reply, or the whole message. */
export type Fields = Record<string, unknown> | Message;

/** A server-streaming method. */
export function streaming(
  desc: DescMethod,
  messages: (request: Message, call: Call) => AsyncIterable<Message>,
): Method {
  return {
    kind: "server_streaming",
    desc: desc as DescMethodServerStreaming,
    invoke: messages,
  };
}

/** A unary method that answers with the result of `answer` for its request. */
export function unary(
  desc: DescMethod,
  answer: (request: Message, call: Call) => Fields | Promise<Fields>,
): Method {
  return {
    kind: "unary",
    // Tests also pass rpcs that the gateway must refuse, such as streams.
    desc: desc as DescMethodUnary,
    invoke: async (request, call) => {
      const reply = await answer(request, call);
      return { message: isMessage(reply) ? reply : made(desc.output, reply) };
    },
  };
}

/** A message that counts the reads of a member: each encoding of the message reads it once. */
export function countReads(message: Message, member: string) {
  let count = 0;
  const counted = new Proxy(message, {
    get: (target, name, receiver) => {
      if (name === member) count++;
      return Reflect.get(target, name, receiver);
    },
  });
  return { counted, reads: () => count };
}

/** A method that echoes its request: the box's `word` is the request as JSON. */
export function echo(desc: DescMethod): Method {
  const jsonOf = (request: Message): string =>
    JSON.stringify(toJson(desc.input, request, { useProtoFieldName: true }));
  return unary(desc, (request) => ({ word: jsonOf(request) }));
}

/** The request that an echo method returned, or the envelope of the error. */
export function echoed(reply: Reply): unknown {
  const { code, message, data } = reply.json as { code: number; message: string; data: unknown };
  return code === 200 ? JSON.parse(String(data)) : { code, message };
}

function bodyOf(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === "string" || Buffer.isBuffer(body)) return body;
  return JSON.stringify(body);
}

function readJson(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString());
  } catch {
    return undefined;
  }
}
