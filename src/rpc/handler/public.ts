import { create } from "@bufbuild/protobuf";
import {
  GetPublicSettingsResponseSchema,
  PingResponseSchema,
  type PublicService as PublicServiceDesc,
} from "../../../gen/mooring/v1/public_service_pb.js";
import type { PublicService } from "../../service/public.ts";
import type { Handlers } from "../method.ts";
import { onePerSnapshot } from "./reply.ts";

export type PublicHandlers = Pick<Handlers<typeof PublicServiceDesc>, "ping" | "getPublicSettings">;

export function publicHandlers(service: () => PublicService): PublicHandlers {
  const pong = create(PingResponseSchema, { message: "pong" });
  const settings = onePerSnapshot((snapshot) =>
    create(GetPublicSettingsResponseSchema, {
      settings: service().settings(snapshot),
      revision: BigInt(snapshot.revision),
    }),
  );
  return {
    ping: () => pong,
    getPublicSettings: () => settings(service().snapshot()),
  };
}
