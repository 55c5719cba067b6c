import { useSignal } from "@preact/signals";
import type { RuleResult } from "../../../gen/mooring/v1/rule_pb.js";
import { may } from "../api/rights.ts";
import { ruleService } from "../api/rules.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ReasonField } from "../components/field.tsx";
import { useTask } from "../components/task.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { Results } from "../mounts/results.tsx";
import { siteNames } from "../mounts/site-choice.tsx";

/** Time limit in milliseconds: a site may be slow. */
const PATIENCE = 180_000;

/** Comparison of the rules with those of a site, adoption and writing, each after a preview. */
export function RulesOfSite() {
  const isOpen = useSignal(false);
  return (
    <>
      <Button
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {t("rules.ofSite")}
      </Button>
      {isOpen.value && (
        <SiteDialog
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

interface Preview {
  readonly action: "adopt" | "sync";
  readonly results: readonly RuleResult[];
}

function SiteDialog({ onClose }: { readonly onClose: () => void }) {
  const site = useSignal("");
  const preview = useSignal<Preview | undefined>(undefined);
  const left = useSignal<ReadonlySet<string>>(new Set());
  const reason = useSignal("");
  const { data: names = [] } = useCall(siteNames, []);
  const reset = (): void => {
    preview.value = undefined;
    left.value = new Set();
  };
  const options = (signal: AbortSignal) => ({ signal, timeoutMs: PATIENCE });
  const adoption = useTask(async (signal) => {
    const request = { site: site.value, dryRun: true };
    const { results } = await ruleService.adoptRules(request, options(signal));
    preview.value = { action: "adopt", results };
  });
  const comparison = useTask(async (signal) => {
    const { results } = await ruleService.compareRules({ site: site.value }, options(signal));
    preview.value = {
      action: "sync",
      results: results.filter(({ outcome }) => outcome !== "unchanged"),
    };
  });
  const commit = useTask(async (signal) => {
    const { action, results } = preview.value ?? { action: "adopt", results: [] };
    const all = results.map(({ path }) => path);
    const paths = left.value.size === 0 ? [] : all.filter((path) => !left.value.has(path));
    const request = { site: site.value, paths };
    if (action === "sync") await ruleService.syncRules(request, options(signal));
    else await ruleService.adoptRules({ ...request, reason: reason.value.trim() }, options(signal));
    onClose();
  });
  const busy = adoption.busy || comparison.busy || commit.busy;
  const found = preview.value?.results;
  const canCommit = found?.some(
    ({ path, outcome }) => outcome !== "skipped" && !left.value.has(path),
  );
  return (
    <Dialog title={t("rules.ofSite")} onClose={onClose}>
      <label class="label" for="rules-site">
        {t("mount.site")}
      </label>
      <select
        id="rules-site"
        class="input"
        value={site.value}
        onChange={(event) => {
          site.value = event.currentTarget.value;
          reset();
        }}
      >
        <option value="">{t("drivers.choose")}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {adoption.view}
      {comparison.view}
      {commit.view}
      {found?.length === 0 && <p class="quiet">{t("rules.same")}</p>}
      {found !== undefined && found.length > 0 && (
        <Results
          results={found.map(({ path, ...rest }) => ({ ...rest, name: path }))}
          left={left.value}
          onLeft={(paths) => {
            left.value = paths;
          }}
        />
      )}
      {preview.value?.action === "adopt" && (
        <ReasonField
          value={reason.value}
          onChange={(text) => {
            reason.value = text;
          }}
        />
      )}
      <div class="ways">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button disabled={busy || site.value === ""} onClick={comparison.start}>
          {t("rules.compare")}
        </Button>
        {may("rules:write") && (
          <Button disabled={busy || site.value === ""} onClick={adoption.start}>
            {t("rules.previewAdopt")}
          </Button>
        )}
        {canCommit && may("rules:write") && (
          <Button kind="main" disabled={busy} onClick={commit.start}>
            {t(preview.value?.action === "sync" ? "rules.sync" : "rules.adopt")}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
