import type { HandlerContext } from "@connectrpc/connect";
import type { Rule as RuleMessage } from "../../gen/mooring/v1/rule_pb.js";
import type { Recorder } from "../audit/recorder.ts";
import type { PendingSites } from "../history/pending-site.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import { createChangeReply, createRevealing } from "../records/reply.ts";
import { secretSubject } from "../records/subject.ts";
import { overridesByName } from "../sites/site-choice.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { SITE_RULES } from "./kind.ts";
import { resultToProto, ruleToProto } from "./message.ts";
import type { Rule } from "./rule.ts";
import type { RuleService } from "./rule-service.ts";
import { PASSWORD } from "./stored.ts";

/** Data of the messages besides rules. */
export interface RuleSource {
  readonly rules: RuleService;
  /** Names of the sites that this process knows. */
  siteNames(): SiteNames;
  readonly pendingSites: PendingSites;
}

/** Dependencies of the methods of RuleService. */
export type RuleReply = ReturnType<typeof createRuleReply>;

/** @param audit counts reads of secrets in the clear, and dry runs with values for masked ones. */
export function createRuleReply(
  { rules, siteNames, pendingSites }: RuleSource,
  audit: Pick<Recorder, "note">,
  translations: (language: Language) => Translate,
) {
  const sayIn = createSayIn(translations);
  return {
    sayIn,
    /** Shows rules to a caller. */
    showIn: (context: HandlerContext, reveals: boolean) => {
      const say = sayIn(context);
      return (rule: Rule): RuleMessage =>
        ruleToProto(rule, rules.statuses(rule), {
          reveals,
          say,
          names: siteNames(),
          etagOf: rules.etagOf,
        });
    },
    ...createRevealing(SITE_RULES, (rule: Rule) => passwordSubjects(rule, siteNames()), audit),
    ...createChangeReply(SITE_RULES, { saved: rules.saved, pendingSites, sayIn, resultToProto }),
  };
}

/** Names of a rule's passwords in the audit. */
function passwordSubjects(rule: Rule, names: SiteNames): readonly string[] {
  const subject = (site?: string): string => secretSubject(SITE_RULES, rule.path, PASSWORD, site);
  return [
    ...(rule.values.password === "" ? [] : [subject()]),
    ...overridesByName(rule, names).flatMap(([site, { values }]) =>
      (values.password ?? "") === "" ? [] : [subject(site)],
    ),
  ];
}
