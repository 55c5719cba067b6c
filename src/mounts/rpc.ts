import type { ServiceImpl } from "@connectrpc/connect";
import type { MountService as MountServiceDesc } from "../../gen/mooring/v1/mount_service_pb.js";
import type { Recorder } from "../audit/recorder.ts";
import type { Language, Translate } from "../messages/language.ts";
import { changeImpl } from "./change-rpc.ts";
import { readImpl } from "./read-rpc.ts";
import { createMountReply, type MountSource } from "./reply.ts";
import { syncImpl } from "./sync-rpc.ts";
import { watchImpl } from "./watch-rpc.ts";

/**
 * Implements MountService.
 *
 * @param audit records exports, counts reads of secrets in the clear, and dry runs with values for
 *   masked ones.
 */
export function mountImpl(
  source: MountSource,
  audit: Pick<Recorder, "note" | "record">,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof MountServiceDesc> {
  const { mounts } = source;
  const reply = createMountReply(source, audit, translations);
  return {
    ...readImpl(mounts, reply, audit),
    ...changeImpl(mounts, reply),
    ...syncImpl(mounts, reply),
    ...watchImpl(source, translations),
  };
}
