import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetPublicSettingsResponseSchema,
  PingResponseSchema,
  type PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import { etagOf } from "../ledger/etag.ts";
import type { PublicSettings } from "./public-settings.ts";
import { memoizePerSnapshot } from "./reply.ts";

/** Read methods of PublicService. */
type PublicImpl = Pick<ServiceImpl<typeof PublicService>, "ping" | "getPublicSettings">;

export function publicImpl(service: PublicSettings): PublicImpl {
  const pong = create(PingResponseSchema, { message: "pong" });
  const settings = memoizePerSnapshot((snapshot) =>
    create(GetPublicSettingsResponseSchema, {
      settings: service.settings(snapshot),
      revision: BigInt(snapshot.revision),
      etag: etagOf(snapshot),
    }),
  );
  return {
    ping: () => pong,
    getPublicSettings: () => settings(service.snapshot()),
  };
}
