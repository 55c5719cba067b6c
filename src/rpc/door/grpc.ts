import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  type ServerOptions,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import type { Method, StreamMethod, UnaryMethod } from "../method.ts";
import { GrpcCall, type GrpcSurfaceCall } from "./grpc-call.ts";
import { bytesNow } from "./grpc-frame.ts";
import { toGrpcStatus, trailerOf } from "./grpc-status.ts";

/** Longest request message, in bytes; grpc-js answers RESOURCE_EXHAUSTED above it. */
export const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

const options: ServerOptions = {
  // Statistics of each call for a service that is not served here.
  "grpc.enable_channelz": 0,
  "grpc.max_receive_message_length": MAX_REQUEST_BYTES,
  // A list of 10,000 settings of 64 KiB would be 640 MiB: a client that wants it says so.
  "grpc.max_send_message_length": -1,
  "grpc.max_concurrent_streams": 1_000,
  // Finds clients that vanished. Pings of clients are always answered and never counted against them.
  "grpc.keepalive_time_ms": 60_000,
  "grpc.keepalive_timeout_ms": 20_000,
};

export interface GrpcDoorDeps {
  readonly methods: readonly Method[];
  readonly requestId: (sent: string | undefined) => string;
}

/**
 * The gRPC door: a grpc-js server with all methods. It listens nowhere by itself: connections are
 * injected, or an address is bound by the caller.
 */
export function createGrpcServer({ methods, requestId }: GrpcDoorDeps): Server {
  const server = new Server(options);
  for (const [service, group] of byService(methods)) {
    const definition: Record<string, MethodDefinition<Message, Message>> = {};
    const implementation: UntypedServiceImplementation = {};
    for (const method of group) {
      definition[method.desc.name] = define(service, method);
      implementation[method.desc.name] =
        method.kind === "unary" ? handleUnary(method, requestId) : handleStream(method, requestId);
    }
    server.addService(definition as ServiceDefinition, implementation);
  }
  return server;
}

function byService(methods: readonly Method[]): Map<string, Method[]> {
  return Map.groupBy(methods, (method) => method.desc.parent.typeName);
}

function define(service: string, { desc }: Method): MethodDefinition<Message, Message> {
  return {
    path: `/${service}/${desc.name}`,
    requestStream: false,
    responseStream: desc.methodKind === "server_streaming",
    requestSerialize: (message) => Buffer.from(toBinary(desc.input, message)),
    requestDeserialize: (bytes) => fromBinary(desc.input, bytes),
    responseSerialize: (message) => bytesNow(desc.output, message),
    responseDeserialize: (bytes) => fromBinary(desc.output, bytes),
  };
}

function handleUnary(
  { invoke }: UnaryMethod,
  requestId: GrpcDoorDeps["requestId"],
): handleUnaryCall<Message, Message> {
  return (surface, callback) => {
    const call = new GrpcCall(surface, requestId);
    const succeed = (reply: Message): void => callback(null, reply, trailerOf(call));
    const fail = (error: unknown): void => callback(toGrpcStatus(ConnectError.from(error), call));
    try {
      const reply = invoke(surface.request, call);
      if (reply instanceof Promise) reply.then(succeed, fail);
      else succeed(reply);
    } catch (error) {
      fail(error);
    }
  };
}

function handleStream(
  method: StreamMethod,
  requestId: GrpcDoorDeps["requestId"],
): handleServerStreamingCall<Message, Message> {
  return (surface) => {
    const call = new GrpcCall(surface, requestId);
    pump(surface, method.invoke(surface.request, call)).then(
      () => surface.end(trailerOf(call)),
      (error: unknown) => surface.emit("error", toGrpcStatus(ConnectError.from(error), call)),
    );
  };
}

/** Writes what the stream yields, no faster than the client reads. */
async function pump(
  surface: GrpcSurfaceCall & {
    write(message: Message): boolean;
    once: NodeJS.EventEmitter["once"];
  },
  messages: AsyncIterable<Message>,
): Promise<void> {
  for await (const message of messages) {
    if (surface.cancelled) return;
    if (!surface.write(message))
      await new Promise<void>((resolve) => {
        surface.once("drain", resolve);
        surface.once("cancelled", resolve);
      });
  }
}
