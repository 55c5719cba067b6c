// Requests of any method over any transport, as bytes on an HTTP/2 stream.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type OutgoingHttpHeaders,
} from "node:http2";
import {
  type DescMethod,
  getOption,
  type JsonObject,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { framed, pathOf } from "../../call.ts";
import { add, type Tally } from "../target.ts";

export const TRANSPORTS = ["rest", "connect-json", "connect-proto", "grpc-web", "grpc"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Encoded request. */
export interface Wire {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** Maximum length of a query of a REST request: longer ones are refused with their headers. */
const MAX_QUERY = 48_000;

/** Encodes a message for a transport. @param token an empty one is left out. */
export function wireOf(
  method: DescMethod,
  message: Message,
  transport: Transport,
  token: string,
): Wire {
  const authorization: OutgoingHttpHeaders = token === "" ? {} : { authorization: token };
  if (transport === "rest") {
    const { headers, body } = restOf(method, message);
    return { headers: { ...headers, ...authorization }, body };
  }
  const isStream = method.methodKind !== "unary";
  const [type, isFramed] = {
    "connect-json": [isStream ? "application/connect+json" : "application/json", isStream],
    "connect-proto": [isStream ? "application/connect+proto" : "application/proto", isStream],
    "grpc-web": ["application/grpc-web+proto", true],
    grpc: ["application/grpc", true],
  }[transport] as [string, boolean];
  const bytes =
    transport === "connect-json"
      ? Buffer.from(JSON.stringify(toJson(method.input, message)))
      : Buffer.from(toBinary(method.input, message));
  return {
    headers: {
      ":method": "POST",
      ":path": pathOf(method),
      "content-type": type,
      ...(transport === "grpc" ? { te: "trailers" } : {}),
      ...authorization,
    },
    body: isFramed ? framed(bytes) : bytes,
  };
}

function restOf(method: DescMethod, message: Message): Wire {
  const { pattern, body } = getOption(method, http);
  if (typeof pattern.value !== "string") throw new Error(`${nameOf(method)} has no REST route`);
  const json = toJson(method.input, message, { useProtoFieldName: true }) as JsonObject;
  const { [body]: inBody, ...rest } = body === "*" ? { "*": json } : json;
  const query = new URLSearchParams(parameters(rest)).toString().slice(0, MAX_QUERY);
  const headers = {
    ":method": pattern.case.toUpperCase(),
    ":path": query === "" ? pattern.value : `${pattern.value}?${query}`,
  };
  if (inBody === undefined) return { headers, body: Buffer.of() };
  return {
    headers: { ...headers, "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(inBody)),
  };
}

/** Members of a message as query parameters; a list repeats its name. */
function parameters(members: JsonObject): string[][] {
  return Object.entries(members).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => [
      name,
      typeof one === "object" ? JSON.stringify(one) : String(one),
    ]),
  );
}

/** Memory of a connection, in MB: with the default of 10, Node.js resets the third long request. */
const SESSION_MEMORY = 64;

/** Opens a connection for several requests of megabytes at a time. */
export function openSession(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { maxSessionMemory: SESSION_MEMORY });
  session.on("error", () => undefined);
  return session;
}

/** Sends a request. The stream is not read until its caller does. */
export function send(session: ClientHttp2Session, { headers, body }: Wire): ClientHttp2Stream {
  const stream = session.request(headers, { endStream: body.length === 0 });
  stream.on("error", () => undefined);
  if (body.length > 0) stream.end(body);
  return stream;
}

/** Sends a request, and counts it. Resolves at the end of its reply, or of the attack. */
export function answered(
  session: ClientHttp2Session,
  wire: Wire,
  tally: Tally,
  over: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const stream = send(session, wire);
    add(tally, "requests");
    stream.on("response", (head) => {
      if (Number(head[":status"]) >= 400) add(tally, "refused");
    });
    stream.resume().once("close", resolve);
    over.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Name of a method in the report, such as `SettingService.Rollback`. */
export function nameOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`;
}
