import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetPublicSettingsResponseSchema,
  PingResponseSchema,
  type PublicService as PublicServiceDesc,
} from "../../gen/mooring/v1/public_service_pb.js";
import type { PublicService } from "./public.ts";
import { memoizePerSnapshot } from "./reply.ts";

/** Read methods of PublicService. */
type PublicImpl = Pick<ServiceImpl<typeof PublicServiceDesc>, "ping" | "getPublicSettings">;

export function publicImpl(service: PublicService): PublicImpl {
  const pong = create(PingResponseSchema, { message: "pong" });
  const settings = memoizePerSnapshot((snapshot) =>
    create(GetPublicSettingsResponseSchema, {
      settings: service.settings(snapshot),
      revision: BigInt(snapshot.revision),
    }),
  );
  return {
    ping: () => pong,
    getPublicSettings: () => settings(service.snapshot()),
  };
}
