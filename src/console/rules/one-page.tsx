import { may } from "../api/rights.ts";
import { followRules, rules, rulesFailure } from "../api/rules.ts";
import { useFollow } from "../components/use-call.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { rulesTexts } from "../i18n/en/rules.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href, place } from "../shell/location.ts";
import { GonePage, WaitingPage } from "../shell/waiting-page.tsx";
import { RuleForm } from "./rule-form.tsx";
import "../mounts/mounts.css";

addMessages(mountsTexts, pagesTexts, recordsTexts, rulesTexts);

/** A folder rule, or a new one: its states on its sites, and its form. */
export default function RulePage() {
  useFollow(followRules, []);
  const known = rules.value;
  const { query } = place.value;
  const path = query.get("path") ?? "";
  const title = path || t("page.rules");
  if (query.has("new") && may("rules:write")) return <RuleForm key="new" />;
  if (known === undefined) return <WaitingPage title={title} failure={rulesFailure.value} />;
  const rule = known.get(path);
  if (rule === undefined)
    return (
      <GonePage title={title} icon="lock" text={t("rules.gone", { path })}>
        <a href={href("rules")}>{t("page.rules")}</a>
      </GonePage>
    );
  return <RuleForm key={rule.path} rule={rule} />;
}
