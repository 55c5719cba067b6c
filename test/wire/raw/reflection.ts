import { create, toBinary } from "@bufbuild/protobuf";
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { enveloped } from "./cuttable.ts";

export const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

/** A request of server reflection in its envelope. */
export function question(messageRequest: ServerReflectionRequest["messageRequest"]): Buffer {
  const request = create(ServerReflectionRequestSchema, { messageRequest });
  return enveloped(Buffer.from(toBinary(ServerReflectionRequestSchema, request)));
}
