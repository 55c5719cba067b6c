import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AdoptRulesResponseSchema,
  CompareRulesResponseSchema,
  type RuleService as RuleServiceDesc,
  SyncRulesResponseSchema,
} from "../../gen/mooring/v1/rule_service_pb.js";
import { whileAllowed } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import { callerOf } from "../records/caller.ts";
import { statusToProto } from "./message.ts";
import type { RuleReply } from "./reply.ts";
import type { RuleService } from "./rule-service.ts";

/** Methods of RuleService that call the servers of sites. */
export function syncImpl(
  rules: RuleService,
  { sayIn, resultsOf, changeReply }: RuleReply,
): Pick<ServiceImpl<typeof RuleServiceDesc>, "compareRules" | "syncRules" | "adoptRules"> {
  return {
    compareRules: async ({ site }, context) => {
      const results = await whileAllowed(context, () => rules.compare(site, context.signal));
      return create(CompareRulesResponseSchema, { results: resultsOf(results, context) });
    },
    syncRules: async ({ site, paths: asked }, context) => {
      const say = sayIn(context);
      const paths = asked.map(rules.pathOf);
      const statuses = await whileAllowed(context, () =>
        rules.sync(site, paths, originOf(context), context.signal),
      );
      return create(SyncRulesResponseSchema, {
        status: statuses.map((status) => statusToProto(status, say)),
      });
    },
    adoptRules: async ({ site, paths: asked, dryRun, reason }, context) => {
      const paths = asked.map(rules.pathOf);
      const saved = await whileAllowed(context, (renew) =>
        rules.adopt(site, paths, { ...callerOf(context, reason), renew }, { dryRun }),
      );
      return create(AdoptRulesResponseSchema, changeReply(saved, context, { dryRun }));
    },
  };
}
