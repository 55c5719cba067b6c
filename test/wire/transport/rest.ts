import { request as httpRequest } from "node:http";
import {
  type DescMethod,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type HttpReply, http1Sender, http2Sender, type SendHttp } from "./http.ts";
import { type RestRoute, restRoutes } from "./rest-route.ts";
import { type Failure, type Transport, WireFailure } from "./transport.ts";

/** An envelope's code for the canonical codes that a client can distinguish. */
const ENVELOPE_OF: Partial<Record<Code, number>> = {
  [Code.InvalidArgument]: 400,
  [Code.FailedPrecondition]: 400,
  [Code.OutOfRange]: 400,
  [Code.Unauthenticated]: 401,
  [Code.PermissionDenied]: 403,
  [Code.NotFound]: 404,
  [Code.Aborted]: 409,
  [Code.AlreadyExists]: 409,
  [Code.ResourceExhausted]: 429,
  [Code.Internal]: 500,
  [Code.Unimplemented]: 501,
  [Code.Unavailable]: 503,
  [Code.DeadlineExceeded]: 504,
};

/** REST over HTTP/1.1. */
export function restTransport(port: number): Transport {
  return senderTransport("REST", port, http1Sender(port), () => {});
}

/** REST over HTTP/2; its streams use HTTP/1.1, like EventSource without TLS. */
export function restHttp2Transport(port: number): Transport {
  const { send, close } = http2Sender(port);
  return senderTransport("REST over HTTP/2", port, send, close);
}

function senderTransport(name: string, port: number, send: SendHttp, close: () => void): Transport {
  return {
    name,
    protocol: "rest",
    carries: (method) => restRoutes.has(method),
    codeOf: (code) => ENVELOPE_OF[code] ?? 500,
    close,
    call: async (method, request, { headers = {}, signal }) => {
      const route = routeOf(method);
      const { path, body } = requestOf(route, jsonOf(method, request));
      const ending = signal === undefined ? {} : { signal };
      const reply = await send(path, { method: route.verb, headers, body, ...ending });
      const requestId = String(reply.headers["x-request-id"] ?? "");
      const failure = failureOf(reply, requestId);
      return failure === undefined
        ? { kind: "reply", message: messageOf(route, reply), requestId }
        : { kind: "failure", ...failure };
    },
    async *watch(method, request, { headers = {}, signal }) {
      const { path } = requestOf(routeOf(method), jsonOf(method, request));
      yield* readEvents(port, path, headers, signal);
    },
  };
}

function routeOf(method: DescMethod): RestRoute {
  const route = restRoutes.get(method);
  if (route === undefined) throw new Error(`${method.name} has no REST route`);
  return route;
}

function jsonOf(method: DescMethod, request: Message): JsonObject {
  return toJson(method.input, request, { useProtoFieldName: true }) as JsonObject;
}

function requestOf(route: RestRoute, request: JsonObject): { path: string; body: unknown } {
  const { body: bodyMember } = route;
  if (bodyMember === "*") return { path: route.path, body: request };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request)) {
    if (name === bodyMember) continue;
    const joined = route.lists?.includes(name) && Array.isArray(value) ? value.join(",") : value;
    for (const one of Array.isArray(joined) ? joined : [joined]) query.append(name, String(one));
  }
  const search = query.size === 0 ? "" : `?${query}`;
  return {
    path: route.path + search,
    body: bodyMember === undefined ? undefined : (request[bodyMember] ?? []),
  };
}

function failureOf(reply: HttpReply, requestId: string): Failure | undefined {
  if (reply.json === undefined && reply.status === 200) return undefined;
  const {
    code,
    message,
    data,
    localized_message: localized,
  } = reply.json as {
    code: number;
    message: string;
    data: { violations?: { field: string }[] } | null;
    localized_message?: { message: string };
  };
  if (code === 200) return undefined;
  return {
    code,
    message,
    fields: (data?.violations ?? []).map(({ field }) => field),
    localized: localized === undefined ? [] : [localized.message],
    requestId,
  };
}

function messageOf(route: RestRoute, reply: HttpReply): JsonObject {
  const { etag } = reply.headers;
  const state = /-(\w+)"$/.exec(String(etag ?? ""))?.[1];
  const revision: JsonObject = state === undefined ? {} : { revision: state };
  if (route.text) return { [route.data ?? ""]: reply.text };
  const { data } = reply.json as { data: JsonValue };
  if (route.data === undefined) return {};
  if (route.data === "*") return data as JsonObject;
  return { [route.data]: data, ...revision };
}

async function* readEvents(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | undefined,
): AsyncIterable<JsonObject> {
  const outgoing = httpRequest({ host: "127.0.0.1", port, path, headers, agent: false, signal });
  const incoming = await new Promise<AsyncIterable<Buffer>>((resolve, reject) => {
    outgoing.on("response", resolve).on("error", reject).end();
  });
  try {
    let text = "";
    for await (const chunk of incoming) {
      text += chunk.toString();
      if (text.startsWith("{")) continue;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const message = readEvent(block);
        if (message !== undefined) yield message;
      }
    }
    if (text.startsWith("{")) throw new WireFailure(envelopeFailure(text));
  } finally {
    outgoing.destroy();
  }
}

function readEvent(block: string): JsonObject | undefined {
  const lines = block.split("\n");
  const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
  if (data.length === 0) return undefined;
  if (lines.includes("event: error")) throw new WireFailure(envelopeFailure(data.join("\n")));
  return JSON.parse(data.join("\n")) as JsonObject;
}

function envelopeFailure(text: string): Failure {
  const reply = { status: 200, headers: {}, text, json: JSON.parse(text) as unknown };
  const failure = failureOf(reply, "");
  if (failure === undefined) throw new Error(`no failure: ${text.slice(0, 200)}`);
  return failure;
}
