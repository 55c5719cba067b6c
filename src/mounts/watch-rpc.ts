import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type MountService as MountServiceDesc,
  WatchMountsResponseSchema,
} from "../../gen/mooring/v1/mount_service_pb.js";
import type { Language, Translate } from "../messages/language.ts";
import { createRecordStream } from "../records/stream.ts";
import { SITE_MOUNTS } from "./kind.ts";
import { mountToProto } from "./message.ts";
import type { MountSource } from "./reply.ts";
import type { WatchedMount, WatchedSource } from "./watch.ts";

/** The method of MountService that streams mounts. */
export function watchImpl(
  { mounts, siteNames }: MountSource,
  translations: (language: Language) => Translate,
): Pick<ServiceImpl<typeof MountServiceDesc>, "watchMounts"> {
  return {
    watchMounts: createRecordStream(mounts.watch, translations, {
      show: ({ mount, statuses, driver }: WatchedMount, say) =>
        mountToProto(mount, statuses, driver, {
          reveals: false,
          say,
          names: siteNames(),
          etagOf: mounts.etagOf,
        }),
      event: (changed, removed: readonly WatchedMount[], { snapshot }: WatchedSource) =>
        create(WatchMountsResponseSchema, {
          mounts: changed,
          removed: removed.map(({ mount }) => mount.name),
          revision: BigInt(snapshot.revision),
        }),
      isAllowed: (grant, { mount }: WatchedMount) => SITE_MOUNTS.isAllowed(grant, mount),
    }),
  };
}
