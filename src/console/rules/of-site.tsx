import { may } from "../api/rights.ts";
import { ruleService } from "../api/rules.ts";
import { DialogButton } from "../components/dialog.tsx";
import { lazy } from "../components/lazy.tsx";
import { t } from "../i18n/language.ts";
import type { SiteAction } from "../records/site-dialog.tsx";
import { shownResults } from "./shown-results.ts";

const SiteDialog = lazy(() =>
  import("../records/site-dialog.tsx").then((module) => module.SiteDialog),
);

/** Comparison of the rules with those of a site, adoption and writing, each after a preview. */
export function RulesOfSite() {
  const mayWrite = may("rules:write");
  const writing: SiteAction = {
    preview: t("rules.compare"),
    commit: mayWrite ? t("rules.sync") : undefined,
    hasReason: false,
    plan: async (site, call) => {
      const { results } = await ruleService.compareRules({ site }, call);
      return shownResults(results.filter(({ outcome }) => outcome !== "unchanged"));
    },
    run: ({ site, names }, call) => ruleService.syncRules({ site, paths: [...names] }, call),
  };
  const adoption: SiteAction = {
    preview: t("rules.previewAdopt"),
    commit: t("rules.adopt"),
    hasReason: true,
    plan: async (site, call) =>
      shownResults((await ruleService.adoptRules({ site, dryRun: true }, call)).results),
    run: ({ names, ...rest }, call) => ruleService.adoptRules({ ...rest, paths: [...names] }, call),
  };
  return (
    <DialogButton
      label={t("rules.ofSite")}
      dialog={(close) => (
        <SiteDialog
          title={t("rules.ofSite")}
          same={t("rules.same")}
          actions={mayWrite ? [writing, adoption] : [writing]}
          onClose={close}
        />
      )}
    />
  );
}
