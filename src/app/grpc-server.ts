import { once } from "node:events";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type handleBidiStreamingCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type status,
} from "@grpc/grpc-js";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { toConnectError } from "../gateway/application-error.ts";
import { encodeOnce } from "../gateway/encoded.ts";
import type { LoadedGrpcJs } from "../transport/grpc-js.ts";
import type { AnswerReflection } from "./reflection.ts";

/** Maximum size of a reflection request, in bytes: names of files and symbols. */
const MAX_REQUEST = 4 * 1024;

/**
 * Creates a grpc-js server, which serves reflection (a bidirectional stream) and answers unknown
 * methods. It does not listen: connections are injected.
 *
 * @param reflect undefined: reflection is not served.
 */
export function createGrpcServer(reflect: AnswerReflection | undefined): LoadedGrpcJs {
  const server = new Server({
    // Statistics of the channelz service, which is not served.
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": MAX_REQUEST,
  });
  if (reflect !== undefined) addReflection(server, reflect);
  return {
    injector: server.createConnectionInjector(ServerCredentials.createInsecure()),
    close: () => server.forceShutdown(),
  };
}

/** Adds reflection: v1, and v1alpha with the same messages on the wire. */
function addReflection(server: Server, reflect: AnswerReflection): void {
  for (const version of ["v1", "v1alpha"])
    server.addService(
      { ServerReflectionInfo: define(`grpc.reflection.${version}.ServerReflection`) },
      { ServerReflectionInfo: handle(reflect) },
    );
}

type Reflection = MethodDefinition<ServerReflectionRequest, ServerReflectionResponse>;

function define(service: string): Reflection {
  const [input, output] = [ServerReflectionRequestSchema, ServerReflectionResponseSchema];
  return {
    path: `/${service}/ServerReflectionInfo`,
    requestStream: true,
    responseStream: true,
    requestSerialize: (message) => Buffer.from(toBinary(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (message) => encodeOnce(output, message, "proto").bytes,
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

/** Answers one request at a time, after the client has read the previous answer. */
function handle(
  reflect: AnswerReflection,
): handleBidiStreamingCall<ServerReflectionRequest, ServerReflectionResponse> {
  return async (stream) => {
    const cancelled = new Promise<void>((resolve) => stream.once("cancelled", () => resolve()));
    try {
      // The end of the requests does not end the stream.
      for await (const request of stream.iterator({ destroyOnReturn: false })) {
        if (stream.cancelled) return;
        if (!stream.write(reflect(request as ServerReflectionRequest)))
          await Promise.race([once(stream, "drain"), cancelled]);
      }
      stream.end();
    } catch (error) {
      const { code, rawMessage: details } = toConnectError(error);
      stream.emit("error", { code: code as number as status, details });
    }
  };
}
