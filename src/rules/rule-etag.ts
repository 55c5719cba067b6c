import { createRecordEtags, NO_RECORD } from "../ledger/record-etag.ts";
import { memoize } from "../memoize.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { sortedJson } from "../sorted-json.ts";
import type { Rule } from "./rule.ts";

/** Etag of a rule, passwords included; undefined: it does not exist. */
export type RuleEtag = (rule: Rule | undefined) => string;

export function createRuleEtag(fingerprint: Pick<Fingerprint, "of">): RuleEtag {
  const etags = createRecordEtags(fingerprint);
  const of = memoize((rule: Rule) =>
    etags.of({ key: rule.path, revision: rule.revision, content: sortedJson(rule) }),
  );
  return (rule) => (rule === undefined ? NO_RECORD : of(rule));
}
