import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AdoptSiteResponseSchema,
  CheckSiteResponseSchema,
  CompareSiteResponseSchema,
  type SiteService as SiteServiceDesc,
  SyncSiteResponseSchema,
} from "../../gen/mooring/v1/site_service_pb.js";
import { whileAllowed } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import type { SayIn } from "../messages/localize.ts";
import { differenceToProto, resultToProto } from "./message.ts";
import { createShowIn, revealsTo, type SiteSource } from "./reply.ts";
import type { SyncStatus } from "./settings/compare.ts";

/** Methods of SiteService that call the server of a site. */
export function syncImpl(
  source: SiteSource,
  sayIn: SayIn,
): Pick<
  ServiceImpl<typeof SiteServiceDesc>,
  "checkSite" | "compareSite" | "adoptSite" | "syncSite"
> {
  const { sites } = source;
  const showIn = createShowIn(source, sayIn);
  return {
    checkSite: async ({ name }, context) => {
      const view = await whileAllowed(context, () => sites.check(name, context.signal));
      return create(CheckSiteResponseSchema, { site: showIn(context)(view) });
    },
    compareSite: async ({ name, all }, context) => {
      const { comparisons } = await whileAllowed(context, () =>
        sites.compare(name, context.signal),
      );
      const shown = comparisons.filter(
        ({ sync, secret }) => (all || sync !== "same") && (!secret || revealsTo(context)),
      );
      const say = sayIn(context);
      return create(CompareSiteResponseSchema, {
        differences: shown.map((comparison) => differenceToProto(comparison, say)),
      });
    },
    adoptSite: async ({ name, keys, dryRun, reason }, context) => {
      const options = { keys, dryRun, reveals: revealsTo(context), signal: context.signal };
      const { revision, results } = await whileAllowed(context, (renew) =>
        sites.adopt(name, { ...options, renew }, originOf(context, reason)),
      );
      const say = sayIn(context);
      return create(AdoptSiteResponseSchema, {
        revision: BigInt(revision),
        results: results.map((result) => resultToProto(result, say)),
      });
    },
    syncSite: async ({ name, keys, dryRun, connectDownloaders }, context) => {
      const { actor } = originOf(context);
      const options = { keys, dryRun, connectDownloaders, signal: context.signal };
      const { revision, results, comparisons, connected } = await whileAllowed(context, () =>
        sites.sync(name, options, actor),
      );
      const say = sayIn(context);
      return create(SyncSiteResponseSchema, {
        revision: BigInt(revision),
        results: results.map((result) => resultToProto(result, say)),
        differences: comparisons
          .filter(({ sync }) => OPEN.has(sync))
          .map((comparison) => differenceToProto(comparison, say)),
        connected: [...connected],
      });
    },
  };
}

/** Statuses that a sync could still resolve. */
const OPEN: ReadonlySet<SyncStatus> = new Set(["differs", "pinned", "refused", "flapping"]);
