import { may } from "../api/rights.ts";
import { followRules, rules, rulesFailure } from "../api/rules.ts";
import { Filters } from "../components/filters.tsx";
import { Empty } from "../components/state.tsx";
import { useFollow } from "../components/use-call.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { rulesTexts } from "../i18n/en/rules.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { WaitingPage } from "../shell/waiting-page.tsx";
import { RuleList } from "./list.tsx";
import { RulesOfSite } from "./of-site.tsx";
import "../mounts/mounts.css";

addMessages(mountsTexts, pagesTexts, recordsTexts, rulesTexts);

/** Folder rules with their states on their sites. */
export default function RulesPage() {
  useFollow(followRules, []);
  const known = rules.value;
  if (known === undefined)
    return <WaitingPage title={t("page.rules")} failure={rulesFailure.value} />;
  const { query } = place.value;
  const text = (query.get("q") ?? "").toLowerCase();
  const site = query.get("site") ?? "";
  const shown = [...known.values()].filter(
    ({ path, status }) =>
      path.toLowerCase().includes(text) &&
      (site === "" || status.some((each) => each.site === site)),
  );
  const sites = new Set([...known.values()].flatMap(({ status }) => status.map((one) => one.site)));
  return (
    <>
      <PageHead title={t("page.rules")}>
        <div class="ways">
          {may("sites:read") && <RulesOfSite />}
          {may("rules:write") && (
            <a class="button main" href={href("rule", { new: "1" })}>
              {t("rules.new")}
            </a>
          )}
        </div>
      </PageHead>
      {known.size === 0 ? (
        <Empty icon="lock" title={t("rules.none")}>
          <p class="quiet">{t("rules.about")}</p>
        </Empty>
      ) : (
        <>
          <Filters
            hasDays={false}
            fields={[
              { name: "q", label: t("rules.search") },
              {
                name: "site",
                label: t("mount.site"),
                choices: [t("mount.anySite"), ...[...sites].sort()],
              },
            ]}
          />
          {shown.length === 0 ? (
            <Empty icon="lock" title={t("rules.noneFound")} />
          ) : (
            <RuleList rules={shown} />
          )}
        </>
      )}
    </>
  );
}
