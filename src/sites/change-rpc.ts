import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateSiteResponseSchema,
  DeleteSiteResponseSchema,
  type SiteService as SiteServiceDesc,
  UpdateSiteResponseSchema,
} from "../../gen/mooring/v1/site_service_pb.js";
import { grantOf, whileAllowed } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import type { SayIn } from "../messages/localize.ts";
import { inputFromProto } from "./message.ts";
import { recordResultToProto } from "./record-effect.ts";
import { createShowIn, type SiteSource } from "./reply.ts";
import { readableResult } from "./visible.ts";

/** Methods of SiteService that change sites. */
export function changeImpl(
  source: SiteSource,
  sayIn: SayIn,
): Pick<ServiceImpl<typeof SiteServiceDesc>, "createSite" | "updateSite" | "deleteSite"> {
  const { sites } = source;
  const showIn = createShowIn(source, sayIn);
  return {
    createSite: async ({ site }, context) => {
      const view = await whileAllowed(context, () =>
        sites.create(inputFromProto(site), originOf(context), context.signal),
      );
      return create(CreateSiteResponseSchema, { site: showIn(context)(view) });
    },
    updateSite: async ({ name, site, dryRun, expectedEtag }, context) => {
      const { view, records } = await sites.update(name, inputFromProto(site), originOf(context), {
        dryRun,
        expectedEtag,
        // As in exports: only the permanent token reads secrets of sites.
        reveals: grantOf(context).isRoot,
      });
      const say = sayIn(context);
      return create(UpdateSiteResponseSchema, {
        site: showIn(context)(view),
        records: records.map((record) => recordResultToProto(record, say)),
      });
    },
    deleteSite: async ({ name, dryRun }, context) => {
      const records = await sites.delete(name, originOf(context), { dryRun });
      const grant = grantOf(context);
      const say = sayIn(context);
      return create(DeleteSiteResponseSchema, {
        records: records.map((record) => recordResultToProto(readableResult(record, grant), say)),
      });
    },
  };
}
