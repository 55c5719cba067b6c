import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetPublicSettingsResponseSchema,
  PingResponseSchema,
  type PublicService as PublicServiceDesc,
} from "../../gen/mooring/v1/public_service_pb.js";
import { etagOf } from "../ledger/etag.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import { isPublic } from "./item.ts";
import { SETTINGS } from "./kind.ts";
import { memoizePerSnapshot } from "./reply.ts";

/** Read methods of PublicService. */
type PublicImpl = Pick<ServiceImpl<typeof PublicServiceDesc>, "ping" | "getPublicSettings">;

export function publicImpl(service: PublicService): PublicImpl {
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

/** Settings that can be read without a token. */
export interface PublicService {
  snapshot(): Snapshot;
  /** Settings at the newest revision of any process on this database. */
  fresh(): Promise<Snapshot>;
  /** Key to value of the settings with flag 0 (public) or 2 (readonly), sorted by key. */
  settings(snapshot: Snapshot): Record<string, string>;
}

export function createPublicService({ ledger }: { ledger: Ledger }): PublicService {
  return {
    snapshot: ledger.snapshot,
    fresh: ledger.fresh,
    settings: (snapshot) => {
      const open = [...snapshot.of(SETTINGS).items()]
        .filter(isPublic)
        .map(({ key, value }) => [key, value]);
      return Object.fromEntries(open.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
    },
  };
}
