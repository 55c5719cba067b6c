import { create, type JsonObject } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  ExportMountsResponseSchema,
  GetMountResponseSchema,
  ListMountsResponseSchema,
  type MountService as MountServiceDesc,
} from "../../gen/mooring/v1/mount_service_pb.js";
import { grantOf } from "../access/grant.ts";
import { auditOriginOf } from "../audit/entry.ts";
import type { Recorder } from "../audit/recorder.ts";
import { recordPage } from "../records/reply.ts";
import { mapInTicks } from "../ticks.ts";
import { SITE_MOUNTS } from "./kind.ts";
import type { MountService } from "./mount-service.ts";
import type { MountReply } from "./reply.ts";

/**
 * Methods of MountService that read mounts.
 *
 * @param audit records exports.
 */
export function readImpl(
  mounts: MountService,
  { showIn, nameIn, revealing, revealedNames }: MountReply,
  audit: Pick<Recorder, "record">,
): Pick<ServiceImpl<typeof MountServiceDesc>, "listMounts" | "getMount" | "exportMounts"> {
  return {
    listMounts: async ({ site, ...request }, context) => {
      const revision = BigInt(mounts.revision());
      const listed = await mounts.list(grantOf(context), site);
      const { items, next } = recordPage(SITE_MOUNTS, listed, request, mounts.siteCount());
      const reveals = revealing(context, request.reveal, items);
      return create(ListMountsResponseSchema, {
        mounts: await mapInTicks(items, showIn(context, reveals), context.signal),
        nextPageToken: next,
        revision,
      });
    },
    getMount: ({ name, reveal }, context) => {
      const mount = mounts.get(nameIn(context, name), grantOf(context));
      const reveals = revealing(context, reveal, [mount]);
      return create(GetMountResponseSchema, { mount: showIn(context, reveals)(mount) });
    },
    exportMounts: async ({ names: asked, site, reveal }, context) => {
      const names = asked.map((name) => nameIn(context, name));
      const { mounts: exported, document } = await mounts.export(
        names,
        site,
        grantOf(context),
        reveal,
      );
      // An export with secrets is sent after its row is written.
      await audit.record({
        origin: auditOriginOf(context),
        subjects: reveal ? revealedNames(context, exported) : [],
        detail: { secrets: reveal ? "clear" : "omit", mounts: exported.length },
        isNeeded: reveal,
      });
      return create(ExportMountsResponseSchema, { document: document as unknown as JsonObject });
    },
  };
}
