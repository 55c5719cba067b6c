import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  DeleteRulesResponseSchema,
  MoveRuleResponseSchema,
  type RuleService as RuleServiceDesc,
  SaveRulesResponseSchema,
} from "../../gen/mooring/v1/rule_service_pb.js";
import { callerOf } from "../records/caller.ts";
import { inputFromProto } from "./message.ts";
import type { RuleReply } from "./reply.ts";
import type { RuleService } from "./rule-service.ts";

/** Methods of RuleService that change rules. */
export function changeImpl(
  rules: RuleService,
  { noteDryRun, changeReply }: RuleReply,
): Pick<ServiceImpl<typeof RuleServiceDesc>, "saveRules" | "moveRule" | "deleteRules"> {
  return {
    saveRules: async (request, context) => {
      const { dryRun, reason } = request;
      const inputs = request.rules
        .map(inputFromProto)
        .map((input) => ({ ...input, path: rules.pathOf(input.path) }));
      const saved = await rules.save(inputs, callerOf(context, reason), { dryRun });
      const paths = inputs.map(({ path }) => path);
      if (dryRun) noteDryRun(context, paths);
      return create(SaveRulesResponseSchema, changeReply(saved, context, { dryRun }));
    },
    moveRule: async ({ path: asked, newPath, dryRun, reason, expectedEtag }, context) => {
      const path = rules.pathOf(asked);
      const before = rules.saved(new Set([path]));
      const options = { dryRun, expectedEtag };
      const saved = await rules.move(path, newPath, callerOf(context, reason), options);
      return create(MoveRuleResponseSchema, changeReply(saved, context, { dryRun, before }));
    },
    deleteRules: async ({ paths: asked, reason, dryRun }, context) => {
      const paths = asked.map(rules.pathOf);
      const before = rules.saved(new Set(paths));
      const saved = await rules.delete(paths, callerOf(context, reason), { dryRun });
      return create(DeleteRulesResponseSchema, changeReply(saved, context, { dryRun, before }));
    },
  };
}
