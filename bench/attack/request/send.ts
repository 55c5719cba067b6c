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
  hasOption,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.js";

export const TRANSPORTS = ["rest", "connect-json", "connect-proto", "grpc-web", "grpc"] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** Encoded request. */
export interface Wire {
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** Maximum length of a query of a REST request: longer ones are refused with their headers. */
const MAX_QUERY = 48_000;

/**
 * Encodes a message for a transport.
 *
 * @returns undefined where the transport has no form for it.
 */
export function wireOf(
  method: DescMethod,
  message: Message,
  transport: Transport,
  token: string | undefined,
): Wire | undefined {
  const authorization: OutgoingHttpHeaders = token === undefined ? {} : { authorization: token };
  if (transport === "rest") {
    const wire = restOf(method, message);
    return wire && { ...wire, headers: { ...wire.headers, ...authorization } };
  }
  const isStream = method.methodKind !== "unary";
  const path = `/${method.parent.typeName}/${method.name}`;
  const bytes =
    transport === "connect-json"
      ? Buffer.from(JSON.stringify(toJson(method.input, message)))
      : Buffer.from(toBinary(method.input, message));
  const type = {
    "connect-json": isStream ? "application/connect+json" : "application/json",
    "connect-proto": isStream ? "application/connect+proto" : "application/proto",
    "grpc-web": "application/grpc-web+proto",
    grpc: "application/grpc",
  }[transport];
  const isFramed = isStream || transport.startsWith("grpc");
  return {
    headers: {
      ":method": "POST",
      ":path": path,
      "content-type": type,
      ...(transport === "grpc" ? { te: "trailers" } : {}),
      ...authorization,
    },
    body: isFramed ? envelope(bytes) : bytes,
  };
}

function envelope(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

function restOf(method: DescMethod, message: Message): Wire | undefined {
  if (!hasOption(method, http)) return undefined;
  const { pattern, body } = getOption(method, http);
  if (typeof pattern.value !== "string") return undefined;
  const json = toJson(method.input, message, { useProtoFieldName: true }) as JsonObject;
  const verb = (pattern.case ?? "get").toUpperCase();
  const inBody: JsonValue | undefined = body === "*" ? json : body === "" ? undefined : json[body];
  const rest =
    body === "*" ? {} : Object.fromEntries(Object.entries(json).filter(([name]) => name !== body));
  const query = new URLSearchParams(parameters(rest)).toString().slice(0, MAX_QUERY);
  return {
    headers: {
      ":method": verb,
      ":path": query === "" ? pattern.value : `${pattern.value}?${query}`,
      ...(inBody === undefined ? {} : { "content-type": "application/json" }),
    },
    body: inBody === undefined ? Buffer.of() : Buffer.from(JSON.stringify(inBody)),
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

/** Name of a method in the report, such as `SettingService.Rollback`. */
export function nameOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`;
}
