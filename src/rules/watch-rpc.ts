import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type RuleService as RuleServiceDesc,
  WatchRulesResponseSchema,
} from "../../gen/mooring/v1/rule_service_pb.js";
import type { Language, Translate } from "../messages/language.ts";
import { createRecordStream } from "../records/stream.ts";
import { SITE_RULES } from "./kind.ts";
import { ruleToProto } from "./message.ts";
import type { RuleSource } from "./reply.ts";
import type { WatchedRule, WatchedSource } from "./watch.ts";

/** The method of RuleService that streams rules. */
export function watchImpl(
  { rules, siteNames }: RuleSource,
  translations: (language: Language) => Translate,
): Pick<ServiceImpl<typeof RuleServiceDesc>, "watchRules"> {
  return {
    watchRules: createRecordStream(rules.watch, translations, {
      show: ({ rule, statuses }: WatchedRule, say) =>
        ruleToProto(rule, statuses, {
          reveals: false,
          say,
          names: siteNames(),
          etagOf: rules.etagOf,
        }),
      event: (changed, removed: readonly WatchedRule[], { snapshot }: WatchedSource) =>
        create(WatchRulesResponseSchema, {
          rules: changed,
          removed: removed.map(({ rule }) => rule.path),
          revision: BigInt(snapshot.revision),
        }),
      isAllowed: (grant, { rule }: WatchedRule) => SITE_RULES.isAllowed(grant, rule),
    }),
  };
}
