import type { Ledger } from "../ledger/ledger.ts";
import { createRecordView, type RecordView } from "../records/view.ts";
import { SITE_RULES } from "./kind.ts";
import { type Rule, type WantedRule, wantedOn } from "./rule.ts";

/** Rules at the newest revision. The same objects until a rule changes. */
export type RuleView = RecordView<Rule, WantedRule>;

export function createRuleView(ledger: Pick<Ledger, "snapshot">): RuleView {
  return createRecordView(ledger, SITE_RULES, wantedOn);
}
