import { Readable } from "node:stream";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import {
  type CallOptions,
  type Code,
  ConnectError,
  type ConnectRouter,
  type HandlerContext,
  type Transport,
} from "@connectrpc/connect";
import {
  type UniversalClientFn,
  universalClientResponseFromFetch,
} from "@connectrpc/connect/protocol";
import { createTransport as createConnectTransport } from "@connectrpc/connect/protocol-connect";
import { createTransport as createGrpcWebTransport } from "@connectrpc/connect/protocol-grpc-web";
import type { RouterOptions } from "../../src/gateway/settings.ts";
import { made, rpcsByName } from "./contract.ts";
import type { Ask } from "./mount.ts";

/** A service with an rpc of each kind, with REST rules. */
export const rpc = rpcsByName([
  { name: "Get", http: { get: "/v1/get/{text}" }, reads: true },
  { name: "Post", http: { post: "/v1/post", body: "*" } },
  { name: "Read", http: { post: "/v1/read", body: "*" }, streams: "reply" },
  { name: "Send", http: { post: "/v1/send", body: "*" }, streams: "request" },
]);

export const service = rpc("Get").parent;

/** A handler: gets the text of the request and returns the word of the reply. */
export type Handle = (text: string, context: HandlerContext) => string | Promise<string>;

export const textOf = (message: Message): string => String(Reflect.get(message, "text"));
export const wordOf = (message: Message): string => String(Reflect.get(message, "word"));

/** The implementation of the service. */
function implementation(handle: Handle) {
  const box = (word: string) => made(rpc("Get").output, { word });
  const answer = async (request: Message, context: HandlerContext) =>
    box(await handle(textOf(request), context));
  return {
    get: answer,
    post: answer,
    async *read(request: Message, context: HandlerContext) {
      const word = await handle(textOf(request), context);
      yield box(word);
      yield box(word);
    },
    async send(requests: AsyncIterable<Message>, context: HandlerContext) {
      const words: string[] = [];
      for await (const request of requests) words.push(textOf(request));
      return box(await handle(words.join(" "), context));
    },
  };
}

/** Registers the service with options of its own. */
export function serviceRoutes(handle: Handle, options?: RouterOptions) {
  return (router: ConnectRouter) =>
    router.service(service, implementation(handle) as never, options as object);
}

/** Registers each rpc with options of its own. */
export function rpcRoutes(handle: Handle, options?: RouterOptions) {
  const handlers = implementation(handle) as unknown as Record<string, never>;
  return (router: ConnectRouter) => {
    for (const desc of service.methods)
      router.rpc(desc, handlers[desc.localName] as never, options as object);
  };
}

/** The outcome of a call. */
export interface Outcome {
  /** Undefined: it succeeded. */
  readonly code: Code | undefined;
  readonly message?: string;
  readonly words?: readonly string[];
  readonly headers: Headers;
}

/** Text, headers and time limit of a call. */
export interface Sending {
  readonly text?: string;
  readonly headers?: Record<string, string>;
  readonly timeoutMs?: number;
}

/** One way to call the service: a protocol and a kind of rpc. */
export interface Way {
  readonly name: string;
  readonly protocol: "rest" | "connect" | "grpc-web";
  /** The request message is in the body. */
  readonly hasBody: boolean;
  readonly call: (ask: Ask, sending?: Sending) => Promise<Outcome>;
}

const DEFAULTS = { text: "a", headers: {} };

function transport(
  ask: Ask,
  protocol: "connect" | "grpc-web",
  useBinaryFormat: boolean,
): Transport {
  const baseUrl = "http://localhost";
  const options = {
    baseUrl,
    useBinaryFormat,
    httpClient: clientOf(ask, baseUrl),
    acceptCompression: [],
    compressMinBytes: 0,
    sendCompression: null,
    readMaxBytes: 0xffffffff,
    writeMaxBytes: 0xffffffff,
    interceptors: [],
  };
  return protocol === "connect" ? createConnectTransport(options) : createGrpcWebTransport(options);
}

/** The HTTP client of a transport. */
function clientOf(ask: Ask, baseUrl: string): UniversalClientFn {
  return async ({ url, method, header: headers, body: pieces, signal = null }) => {
    const parts: Uint8Array[] = [];
    for await (const piece of pieces ?? []) parts.push(piece);
    const body = pieces === undefined ? null : Buffer.concat(parts);
    const init = { method, headers, body, signal };
    return universalClientResponseFromFetch(await ask(url.slice(baseUrl.length), init));
  };
}

/** A way of Connect's own clients. */
function clientWay(protocol: "connect" | "grpc-web", isBinary: boolean, desc: DescMethod): Way {
  return {
    name: `${protocol} ${isBinary ? "proto" : "JSON"} ${desc.name}`,
    protocol,
    hasBody: true,
    call: async (ask, sending = {}) => {
      const { text, ...options } = { ...DEFAULTS, ...sending };
      const message = made(desc.input, { text });
      return outcomeOver(transport(ask, protocol, isBinary), desc, message, options);
    },
  };
}

/** Calls an rpc of any kind by a client of Connect. */
export async function callOver(
  transport: Transport,
  desc: DescMethod,
  messages: readonly Message[],
  { headers, timeoutMs, signal }: CallOptions = {},
) {
  const words: string[] = [];
  if (desc.methodKind === "unary") {
    const [message] = messages as never[];
    const reply = await transport.unary(
      desc as never,
      signal,
      timeoutMs,
      headers,
      message as never,
    );
    return { ...reply, words: [wordOf(reply.message)] };
  }
  const all = Readable.from(messages) as never;
  const reply = await transport.stream(desc as never, signal, timeoutMs, headers, all);
  for await (const one of reply.message) words.push(wordOf(one));
  return { ...reply, words };
}

/** The outcome of a call with one message. */
export async function outcomeOver(
  transport: Transport,
  desc: DescMethod,
  message: Message,
  options: CallOptions,
): Promise<Outcome> {
  try {
    const { words, header: headers } = await callOver(transport, desc, [message], options);
    return { code: undefined, words, headers };
  } catch (error) {
    const { code, rawMessage, metadata } = ConnectError.from(error);
    return { code, message: rawMessage, headers: metadata };
  }
}

function restWay(
  name: string,
  hasBody: boolean,
  send: (text: string) => [string, RequestInit],
): Way {
  return {
    name: `REST ${name}`,
    protocol: "rest",
    hasBody,
    call: async (ask, sending = {}) => {
      const { text, headers, timeoutMs } = { ...DEFAULTS, timeoutMs: undefined, ...sending };
      const [path, init] = send(text);
      const timeout = timeoutMs === undefined ? {} : { "connect-timeout-ms": String(timeoutMs) };
      const response = await ask(path, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), ...headers, ...timeout },
      });
      return restOutcome(response, await response.text());
    },
  };
}

interface RestValue {
  readonly word?: string;
  readonly code?: Code;
  readonly message?: string;
  readonly error?: { readonly code: Code; readonly message: string };
}

/** A reply of one message, of lines, of an array, or of events. */
function restOutcome({ headers }: Response, text: string): Outcome {
  const lines = (headers.get("content-type") ?? "").startsWith("text/event-stream")
    ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? "")
    : text.split("\n").map((line) => line.replace(/^[[,]|[\],]$/g, ""));
  const values = lines.filter(Boolean).map((line) => JSON.parse(line) as RestValue);
  const failed = values.map((value) => value.error ?? value).find(({ code }) => code !== undefined);
  if (failed?.code !== undefined)
    return { code: failed.code, message: failed.message ?? "", headers };
  return { code: undefined, words: values.map(({ word }) => word ?? ""), headers };
}

const JSON_TYPE = { "content-type": "application/json" };
const post = (text: string, headers: Record<string, string> = JSON_TYPE): RequestInit => ({
  method: "POST",
  headers,
  body: JSON.stringify({ text }),
});

/** Every way to call the service. */
export const WAYS: readonly Way[] = [
  restWay("GET", false, (text) => [`/v1/get/${text}`, {}]),
  restWay("POST", true, (text) => ["/v1/post", post(text)]),
  restWay("lines", true, (text) => ["/v1/read", post(text)]),
  restWay("array", true, (text) => [
    "/v1/read",
    post(text, { ...JSON_TYPE, accept: "application/json" }),
  ]),
  restWay("events", true, (text) => [
    "/v1/read",
    post(text, { ...JSON_TYPE, accept: "text/event-stream" }),
  ]),
  restWay("client stream", true, (text) => [
    "/v1/send",
    post(text, { "content-type": "application/x-ndjson" }),
  ]),
  ...["Get", "Post", "Read", "Send"].flatMap((name) =>
    [true, false].map((isBinary) => clientWay("connect", isBinary, rpc(name))),
  ),
  ...["Get", "Read"].flatMap((name) =>
    [true, false].map((isBinary) => clientWay("grpc-web", isBinary, rpc(name))),
  ),
];
