import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetRuleResponseSchema,
  ListRulesResponseSchema,
  type RuleService as RuleServiceDesc,
} from "../../gen/mooring/v1/rule_service_pb.js";
import { grantOf } from "../access/grant.ts";
import { recordPage } from "../records/reply.ts";
import { mapInTicks } from "../ticks.ts";
import { SITE_RULES } from "./kind.ts";
import type { RuleReply } from "./reply.ts";
import type { RuleService } from "./rule-service.ts";

/** Methods of RuleService that read rules. */
export function readImpl(
  rules: RuleService,
  { showIn, revealing }: RuleReply,
): Pick<ServiceImpl<typeof RuleServiceDesc>, "listRules" | "getRule"> {
  return {
    listRules: async ({ site, ...request }, context) => {
      const revision = BigInt(rules.revision());
      const listed = await rules.list(grantOf(context), site);
      const { items, next } = recordPage(SITE_RULES, listed, request, rules.siteCount());
      const reveals = revealing(context, request.reveal, items);
      return create(ListRulesResponseSchema, {
        rules: await mapInTicks(items, showIn(context, reveals), context.signal),
        nextPageToken: next,
        revision,
      });
    },
    getRule: ({ path, reveal }, context) => {
      const rule = rules.get(rules.pathOf(path), grantOf(context));
      const reveals = revealing(context, reveal, [rule]);
      return create(GetRuleResponseSchema, { rule: showIn(context, reveals)(rule) });
    },
  };
}
