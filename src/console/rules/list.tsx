import type { Rule } from "../../../gen/mooring/v1/rule_pb.js";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { isLong, RecordItem, StateCounts, StateOnSite, sitesText } from "../records/list.tsx";
import { href } from "../shell/location.ts";
import { hasPassword } from "./input.ts";

/** What a rule does, in words. */
function doesWhat(rule: Rule): string {
  const parts: (readonly [boolean, MessageKey])[] = [
    [hasPassword(rule), "rule.does.password"],
    [rule.write, "rule.does.write"],
    [rule.hide !== "", "rule.does.hide"],
    [rule.readme !== "", "rule.does.readme"],
    [rule.header !== "", "rule.does.header"],
    [rule.readUsers.length > 0, "rule.does.readUsers"],
    [rule.writeUsers.length > 0, "rule.does.writeUsers"],
  ];
  return parts.flatMap(([does, word]) => (does ? [t(word)] : [])).join(" · ");
}

/** List of all folder rules with their states on their sites. */
export function RuleList({ rules }: { readonly rules: readonly Rule[] }) {
  return (
    <ul class="sheet mounts">
      {rules.map((rule) => (
        <RecordItem
          key={rule.path}
          name={rule.path}
          address={href("rule", { path: rule.path })}
          badges={rule.missing.length > 0 ? [t("record.incomplete")] : []}
          facts={[doesWhat(rule), sitesText(rule.sites)].filter((text) => text !== "").join(" · ")}
        >
          {isLong(rule.status) ? (
            <StateCounts of={rule.status} />
          ) : (
            rule.status.map((status) => <StateOnSite key={status.site} of={status} />)
          )}
        </RecordItem>
      ))}
    </ul>
  );
}
