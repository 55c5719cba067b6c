import { readFileSync } from "node:fs";
import { fromBinary } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import {
  GetPublicSettingsResponseSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import type { FixedMessage } from "../reply.ts";

/** Mooring's public service with nothing behind it: one message, made once and kept. */
export function publicRoutes(file: string): (router: ConnectRouter) => void {
  const { body } = JSON.parse(readFileSync(file, "utf8")) as FixedMessage;
  const reply = fromBinary(GetPublicSettingsResponseSchema, Buffer.from(body, "base64"));
  return (router) =>
    router.service(PublicService, {
      ping: () => ({ message: "pong" }),
      getPublicSettings: () => reply,
    });
}
