import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import {
  create,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  isMessage,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { answerClientError } from "../../src/gateway/client-error.ts";
import { createGateway, type Gateway } from "../../src/gateway/gateway.ts";
import type { GatewayOptions } from "../../src/gateway/gateway-options.ts";
import type { Call, Method } from "../../src/rpc/method.ts";

/** A reply as it came over the wire. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown;
}

/** A request to send; a string or Buffer body is sent as it is, anything else as JSON. */
export interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A gateway behind a real server on a loopback port. */
export interface Door {
  readonly port: number;
  readonly gateway: Gateway;
  send(path: string, sent?: Sent): Promise<Reply>;
  close(): Promise<void>;
}

/** Starts a server with nothing but a gateway; request ids are `id-1`, `id-2`, … */
export async function openDoor(options: Partial<GatewayOptions>): Promise<Door> {
  const gateway = createGateway({ methods: [], httpStatus: "envelope", ...options });
  let count = 0;
  const server = createServer((request, response) => {
    const id = `id-${++count}`;
    if (!gateway.handle(request, response, id)) gateway.refuse(request, response, id);
  });
  server.on("clientError", answerClientError);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    gateway,
    send: (path, sent) => send(port, path, sent),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
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

/** A unary method that answers with whatever `answer` makes of its request. */
export function unary(
  desc: DescMethod,
  answer: (request: Message, call: Call) => Fields | Promise<Fields>,
): Method {
  return {
    kind: "unary",
    // What is wrong with it the gateway itself has to find.
    desc: desc as DescMethodUnary,
    invoke: async (request, call) => {
      const reply = await answer(request, call);
      return isMessage(reply)
        ? reply
        : create(desc.output, reply as object as Record<string, never>);
    },
  };
}

/** A method that tells its request back: the box's `word` is the request as JSON. */
export function echo(desc: DescMethod): Method {
  const told = (request: Message): string =>
    JSON.stringify(toJson(desc.input, request, { useProtoFieldName: true }));
  return unary(desc, (request) => ({ word: told(request) }));
}

/** The request that an echo method told back, or the envelope of the error. */
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
