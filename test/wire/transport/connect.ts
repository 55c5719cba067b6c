import type { DescMethodServerStreaming, Message } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { type Transport as Client, ConnectError } from "@connectrpc/connect";
import {
  type ConnectTransportOptions,
  createConnectTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import {
  BadRequestSchema,
  LocalizedMessageSchema,
} from "../../../gen/google/rpc/error_details_pb.js";
import { detailsOf, type Failure, messageJson, type Transport, WireFailure } from "./transport.ts";

const everything = (): boolean => true;

/** Connect with JSON in POST requests over HTTP/1.1. */
export function connectJsonTransport(port: number): Transport {
  const transport = createConnectTransport({ ...overHttp1(port), useBinaryFormat: false });
  return connectClientTransport({ name: "Connect JSON", protocol: "connect", transport });
}

/** Connect with GET requests, for the methods that allow it. */
export function connectGetTransport(port: number): Transport {
  const transport = createConnectTransport({ ...overHttp1(port), useHttpGet: true });
  return connectClientTransport({
    name: "Connect GET",
    protocol: "connect",
    transport,
    carries: (method) =>
      method.methodKind === "unary" &&
      method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS,
  });
}

/** Connect with protobuf bytes over HTTP/2. */
export function connectHttp2Transport(port: number): Transport {
  const sessionManager = new Http2SessionManager(`http://127.0.0.1:${port}`);
  const transport = createConnectTransport({
    baseUrl: `http://127.0.0.1:${port}`,
    httpVersion: "2",
    sessionManager,
  });
  const close = (): void => sessionManager.abort();
  return connectClientTransport({
    name: "Connect over HTTP/2",
    protocol: "connect",
    transport,
    close,
  });
}

/** gRPC-Web over HTTP/1.1. */
export function grpcWebTransport(port: number): Transport {
  const transport = createGrpcWebTransport(overHttp1(port));
  return connectClientTransport({ name: "gRPC-Web", protocol: "grpc-web", transport });
}

function overHttp1(port: number): ConnectTransportOptions {
  return { baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" };
}

function connectClientTransport(
  parts: Pick<Transport, "name" | "protocol"> &
    Partial<Pick<Transport, "carries" | "close">> & { readonly transport: Client },
): Transport {
  const { transport, name, protocol, carries = everything, close = () => {} } = parts;
  return {
    name,
    protocol,
    carries,
    close,
    codeOf: (code) => code,
    call: async (method, request, { headers, signal }) => {
      try {
        const reply = await transport.unary(method, signal, undefined, headers, request);
        return {
          kind: "reply",
          message: messageJson(method.output, reply.message),
          requestId: reply.header.get("x-request-id") ?? "",
        };
      } catch (error) {
        return { kind: "failure", ...failureOf(error) };
      }
    },
    async *watch(method, request, { headers, signal }) {
      try {
        const reply = await transport.stream(method, signal, undefined, headers, once(request));
        for await (const message of reply.message)
          yield messageJson((method as DescMethodServerStreaming).output, message);
      } catch (error) {
        throw new WireFailure(failureOf(error));
      }
    },
  };
}

async function* once(request: Message): AsyncIterable<Message> {
  yield request;
}

function failureOf(thrown: unknown): Failure {
  const error = ConnectError.from(thrown);
  return {
    code: error.code,
    message: error.rawMessage,
    ...detailsOf(error.findDetails(BadRequestSchema), error.findDetails(LocalizedMessageSchema)),
    requestId: error.metadata.get("x-request-id") ?? "",
  };
}
