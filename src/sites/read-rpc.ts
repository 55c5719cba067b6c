import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetSiteResponseSchema,
  ListSiteLogResponseSchema,
  ListSitesResponseSchema,
  type SiteService as SiteServiceDesc,
} from "../../gen/mooring/v1/site_service_pb.js";
import { grantOf } from "../access/grant.ts";
import { invalid } from "../messages/error.ts";
import type { SayIn } from "../messages/localize.ts";
import { message } from "../messages/message.ts";
import { pageLimit } from "../messages/page.ts";
import { logEntryToProto } from "./message.ts";
import { createShowIn, type SiteSource } from "./reply.ts";
import { hiddenActions } from "./visible.ts";

/** Methods of SiteService that read what is known about sites. */
export function readImpl(
  source: SiteSource,
  sayIn: SayIn,
): Pick<ServiceImpl<typeof SiteServiceDesc>, "listSites" | "getSite" | "listSiteLog"> {
  const { sites } = source;
  const showIn = createShowIn(source, sayIn);
  return {
    listSites: (_request, context) =>
      create(ListSitesResponseSchema, {
        sites: sites.list().map(showIn(context)),
        revision: BigInt(sites.revision()),
      }),
    getSite: ({ name }, context) =>
      create(GetSiteResponseSchema, { site: showIn(context)(sites.get(name)) }),
    listSiteLog: async ({ name, pageSize, before }, context) => {
      const limit = pageLimit(pageSize, { beyond: "invalid" });
      if (before < 0n) throw invalid([{ field: "before", description: message("BEFORE_INVALID") }]);
      const entries = await sites.log(name, {
        limit,
        before: before === 0n ? undefined : Number(before),
        without: hiddenActions(grantOf(context)),
      });
      const say = sayIn(context);
      return create(ListSiteLogResponseSchema, {
        entries: entries.map((entry) => logEntryToProto(entry, say)),
      });
    },
  };
}
