import type { ServiceImpl } from "@connectrpc/connect";
import type { RuleService as RuleServiceDesc } from "../../gen/mooring/v1/rule_service_pb.js";
import type { Recorder } from "../audit/recorder.ts";
import type { Language, Translate } from "../messages/language.ts";
import { changeImpl } from "./change-rpc.ts";
import { readImpl } from "./read-rpc.ts";
import { createRuleReply, type RuleSource } from "./reply.ts";
import { syncImpl } from "./sync-rpc.ts";
import { watchImpl } from "./watch-rpc.ts";

/**
 * Implements RuleService.
 *
 * @param audit counts reads of secrets in the clear, and dry runs with values for masked ones.
 */
export function ruleImpl(
  source: RuleSource,
  audit: Pick<Recorder, "note">,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof RuleServiceDesc> {
  const { rules } = source;
  const reply = createRuleReply(source, audit, translations);
  return {
    ...readImpl(rules, reply),
    ...changeImpl(rules, reply),
    ...syncImpl(rules, reply),
    ...watchImpl(source, translations),
  };
}
