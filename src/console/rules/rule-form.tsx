import type { Rule, RuleStatus } from "../../../gen/mooring/v1/rule_pb.js";
import { type Failure, memberOf } from "../api/failure.ts";
import { may } from "../api/rights.ts";
import { ruleService } from "../api/rules.ts";
import { Field } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { SiteStates, StateOnSite } from "../records/list.tsx";
import { RecordFrame, useRecordForm } from "../records/record-form.tsx";
import { Results } from "../records/results.tsx";
import { SiteChoice } from "../records/site-choice.tsx";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { changesOf, draftOf, inputOf, readDraft, rebased, writeDraft } from "./input.ts";
import { RuleActions } from "./rule-actions.tsx";
import { RuleFields } from "./rule-fields.tsx";
import { RuleOverrides } from "./rule-overrides.tsx";
import { shownResults } from "./shown-results.ts";

/** Folder rule with its states on its sites, and its form. */
export function RuleForm({ rule }: { readonly rule?: Rule }) {
  const form = useRecordForm({
    name: rule ? `rule:${rule.path}` : "rule-new",
    record: rule,
    initial: () => draftOf(rule),
    draftOf,
    changes: changesOf,
    rebased,
    write: writeDraft,
    read: readDraft,
    send: (draft, options) => ruleService.saveRules({ ...options, rules: [inputOf(draft)] }),
    reload: async (draft, results) => {
      const path = results[0]?.path ?? draft.path;
      if (rule === undefined) go(href("rule", { path }));
      return (await ruleService.getRule({ path })).rule;
    },
  });
  const draft = form.draft.value;
  const wrong = new Map(
    form.failure?.violations.map(({ field, description }) => [memberOf(field), description]),
  );
  return (
    <>
      <PageHead title={rule?.path ?? t("rules.new")}>
        <div class="ways">
          <a class="button" href={href("rules")}>
            {t("page.rules")}
          </a>
          {rule !== undefined && <RuleActions rule={rule} />}
        </div>
      </PageHead>
      {rule !== undefined && <OnItsSites status={rule.status} />}
      {rule !== undefined && rule.missing.length > 0 && (
        <Notice kind="wrong">{t("rule.giveMissing", { items: rule.missing.join(", ") })}</Notice>
      )}
      <RecordFrame
        form={form}
        mayWrite={may("rules:write")}
        outcome={
          <>
            {form.failure && <Refusal of={form.failure} />}
            {form.results && <Results results={shownResults(form.results)} />}
          </>
        }
      >
        <section class="sheet block block-form" aria-label={t("rule.itself")}>
          {rule === undefined && (
            <Field
              label={t("rule.path")}
              hint={t("rule.pathHint")}
              wrong={wrong.get("path")}
              value={draft.path}
              onChange={(path) => form.set({ path })}
            />
          )}
          <SiteChoice
            value={draft.sites}
            all={t("mount.everySite")}
            wrong={wrong.get("sites")}
            onChange={(sites) => form.set({ sites })}
          />
        </section>
        <RuleFields draft={draft} wrong={wrong} onChange={form.set} />
        <RuleOverrides draft={draft} wrong={wrong} set={form.set} />
      </RecordFrame>
    </>
  );
}

/** States of a rule on its sites, with cause and remedy. */
function OnItsSites({ status }: { readonly status: readonly RuleStatus[] }) {
  if (status.length === 0) return null;
  return (
    <SiteStates status={status}>
      {status.map((each) => (
        <li key={each.site} class="on-site">
          <StateOnSite of={each} />
          {each.error !== "" && <p class="mono small">{each.error}</p>}
          {each.differs.length > 0 && <p class="small">{each.differs.join(", ")}</p>}
          {each.remedy !== "" && <p class="small">{each.remedy}</p>}
        </li>
      ))}
    </SiteStates>
  );
}

/** Reason of a refused preview or save. */
function Refusal({ of: { violations, message } }: { readonly of: Failure }) {
  return (
    <Notice kind="wrong">
      {violations.length === 0
        ? message || t("state.offline")
        : violations.map(({ field, description }) => (
            <p key={field}>
              {memberOf(field)}: {description}
            </p>
          ))}
    </Notice>
  );
}
