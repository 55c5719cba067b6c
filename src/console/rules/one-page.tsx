import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import type { Rule, RuleResult } from "../../../gen/mooring/v1/rule_pb.js";
import { type Failure, failureOf, memberOf } from "../api/failure.ts";
import { may } from "../api/rights.ts";
import { followRules, ruleService, rules, rulesFailure } from "../api/rules.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Field, ReasonField } from "../components/field.tsx";
import { Empty, Failed, Notice, Skeleton } from "../components/state.tsx";
import { useFollow } from "../components/use-call.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { rulesTexts } from "../i18n/en/rules.ts";
import { addMessages, t } from "../i18n/language.ts";
import { Effects, Results } from "../mounts/results.tsx";
import { SiteChoice } from "../mounts/site-choice.tsx";
import { go, href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { draftOf, inputOf, isEdited, type RuleDraft } from "./input.ts";
import { RuleState } from "./list.tsx";
import { RuleActions } from "./rule-actions.tsx";
import { RuleFields } from "./rule-fields.tsx";
import { RuleOverrides } from "./rule-overrides.tsx";
import "../mounts/mounts.css";

addMessages(mountsTexts, pagesTexts, rulesTexts);

/** A folder rule, or a new one: its states on its sites, and its form. */
export default function RulePage() {
  useFollow(followRules, []);
  const known = rules.value;
  const { query } = place.value;
  const path = query.get("path") ?? "";
  if (query.has("new") && may("rules:write")) return <RuleForm />;
  if (known === undefined)
    return (
      <>
        <PageHead title={path || t("page.rules")} />
        {rulesFailure.value ? <Failed failure={rulesFailure.value} /> : <Skeleton rows={3} />}
      </>
    );
  const rule = known.get(path);
  if (rule === undefined)
    return (
      <>
        <PageHead title={path || t("page.rules")} />
        <Empty icon="lock" title={t("rules.gone", { path })}>
          <a href={href("rules")}>{t("page.rules")}</a>
        </Empty>
      </>
    );
  return <RuleForm key={rule.path} rule={rule} />;
}

function RuleForm({ rule }: { readonly rule?: Rule }) {
  const draft = useSignal<RuleDraft>(draftOf(rule));
  const reason = useSignal("");
  const failure = useSignal<Failure | undefined>(undefined);
  const preview = useSignal<readonly RuleResult[] | undefined>(undefined);
  const effects = useSignal<readonly Effect[]>([]);
  const busy = useSignal(false);
  const set = (change: Partial<RuleDraft>): void => {
    draft.value = { ...draft.peek(), ...change };
  };
  const isOutdated = rule !== undefined && rule.etag !== draft.value.base?.etag;
  const edited = isEdited(draft.value);
  // A rule that another client changes is shown, unless this form has inputs.
  useEffect(() => {
    if (isOutdated && !edited) draft.value = draftOf(rule);
  }, [isOutdated, edited, rule, draft]);
  const wrong = new Map(
    failure.value?.violations.map(({ field, description }) => [memberOf(field), description]),
  );
  /** Saves, or shows a preview: also before a save with an effect on a running server. */
  const save = async (dryRun: boolean, isConfirmed = false): Promise<void> => {
    busy.value = true;
    try {
      const request = { rules: [inputOf(draft.value)], reason: reason.value.trim() };
      const planned = await ruleService.saveRules({ ...request, dryRun: true });
      failure.value = undefined;
      preview.value = planned.results;
      if (dryRun) return;
      effects.value = planned.results.flatMap((result) => result.effects);
      if (effects.value.length > 0 && !isConfirmed) return;
      const { results } = await ruleService.saveRules(request);
      preview.value = results;
      reason.value = "";
      const path = results[0]?.path ?? draft.value.path;
      const saved = await ruleService.getRule({ path });
      draft.value = draftOf(saved.rule);
      if (rule === undefined) go(href("rule", { path }));
    } catch (thrown) {
      failure.value = failureOf(thrown);
      preview.value = undefined;
    } finally {
      busy.value = false;
    }
  };
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
      {rule !== undefined && rule.status.length > 0 && (
        <ul class="sheet mounts">
          {rule.status.map((status) => (
            <li key={status.site} class="on-site">
              <RuleState of={status} />
              {status.error !== "" && <p class="mono small">{status.error}</p>}
              {status.differs.length > 0 && <p class="small">{status.differs.join(", ")}</p>}
              {status.remedy !== "" && <p class="small">{status.remedy}</p>}
            </li>
          ))}
        </ul>
      )}
      {rule !== undefined && rule.missing.length > 0 && (
        <Notice kind="wrong">{t("rule.giveMissing", { items: rule.missing.join(", ") })}</Notice>
      )}
      {isOutdated && edited && (
        <Notice kind="warning">
          {t("rule.outdated")}{" "}
          <Button
            onClick={() => {
              draft.value = draftOf(rule);
            }}
          >
            {t("rule.discard")}
          </Button>
        </Notice>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value) void save(false);
        }}
      >
        <section class="sheet block block-form" aria-label={t("rule.itself")}>
          {rule === undefined && (
            <Field
              label={t("rule.path")}
              hint={t("rule.pathHint")}
              wrong={wrong.get("path")}
              value={draft.value.path}
              onChange={(path) => set({ path })}
            />
          )}
          <SiteChoice
            value={draft.value.sites}
            all={t("mount.everySite")}
            wrong={wrong.get("sites")}
            onChange={(sites) => set({ sites })}
          />
        </section>
        <RuleFields draft={draft.value} wrong={wrong} onChange={set} />
        <RuleOverrides draft={draft.value} wrong={wrong} onChange={set} />
        {may("rules:write") && (
          <ReasonField
            value={reason.value}
            onChange={(text) => {
              reason.value = text;
            }}
          />
        )}
        {failure.value && (
          <Notice kind="wrong">
            {failure.value.violations.length === 0
              ? failure.value.message || t("state.offline")
              : failure.value.violations.map(({ field, description }) => (
                  <p key={field}>
                    {memberOf(field)}: {description}
                  </p>
                ))}
          </Notice>
        )}
        {preview.value && (
          <Results results={preview.value.map(({ path, ...rest }) => ({ ...rest, name: path }))} />
        )}
        {may("rules:write") && (
          <div class="ways">
            <Button disabled={busy.value} onClick={() => void save(true)}>
              {t("mount.preview")}
            </Button>
            <Button kind="main" type="submit" disabled={busy.value}>
              {t("mount.save")}
            </Button>
          </div>
        )}
      </form>
      {effects.value.length > 0 && !busy.value && (
        <Confirm
          title={t("effect.title")}
          action={t("effect.save")}
          onAction={() => save(false, true)}
          onClose={() => {
            effects.value = [];
          }}
        >
          <Effects effects={effects.value} />
        </Confirm>
      )}
    </>
  );
}
