import type { Rule, RuleStatus } from "../../../gen/mooring/v1/rule_pb.js";
import { Icon } from "../components/button.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { href } from "../shell/location.ts";
import { hasPassword } from "./input.ts";

const STATES: Readonly<Record<string, MessageKey>> = {
  ok: "mount.ok",
  waiting: "mount.waiting",
  differs: "mount.differs",
  failing: "mount.failing",
  stuck: "mount.stuck",
};

/** State of a rule on a site. */
export function RuleState({ of }: { readonly of: RuleStatus }) {
  const word = STATES[of.state];
  const isGood = of.state === "ok" || of.state === "waiting";
  return (
    <span class={`health ${isGood ? "good" : "bad"}`}>
      <Icon name={isGood ? "done" : "warning"} />
      {of.site}: {word === undefined ? of.state : t(word)}
    </span>
  );
}

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

function sitesText({ sites }: Rule): string {
  if (sites?.all) return t("mount.allSites");
  return sites === undefined || sites.none ? t("mount.noSite") : sites.names.join(", ");
}

/** List of all folder rules with their states on their sites. */
export function RuleList({ rules }: { readonly rules: readonly Rule[] }) {
  return (
    <ul class="sheet mounts">
      {rules.map((rule) => (
        <li key={rule.path} data-rule={rule.path}>
          <div>
            <a href={href("rule", { path: rule.path })}>
              <strong>{rule.path}</strong>
            </a>{" "}
            {rule.missing.length > 0 && <span class="badge">{t("mount.incomplete")}</span>}
            <p class="quiet small">
              {[doesWhat(rule), sitesText(rule)].filter((text) => text !== "").join(" · ")}
            </p>
          </div>
          <p class="small">
            {rule.status.map((status) => (
              <RuleState key={status.site} of={status} />
            ))}
          </p>
        </li>
      ))}
    </ul>
  );
}
