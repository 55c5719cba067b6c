import { mountService } from "../api/mounts.ts";
import { DialogButton } from "../components/dialog.tsx";
import { lazy } from "../components/lazy.tsx";
import { t } from "../i18n/language.ts";
import type { SiteAction } from "../records/site-dialog.tsx";

const SiteDialog = lazy(() =>
  import("../records/site-dialog.tsx").then((module) => module.SiteDialog),
);

/** Adopts the mounts of a site after a preview. */
export function AdoptMounts() {
  const adoption: SiteAction = {
    preview: t("mounts.look"),
    commit: t("mounts.take"),
    hasReason: true,
    plan: async (site, call) =>
      (await mountService.adoptMounts({ site, dryRun: true }, call)).results,
    run: ({ names, ...rest }, call) =>
      mountService.adoptMounts({ ...rest, names: [...names] }, call),
  };
  return (
    <DialogButton
      label={t("mounts.adopt")}
      dialog={(close) => (
        <SiteDialog
          title={t("mounts.adopt")}
          about={t("mounts.adoptAbout")}
          same={t("mounts.same")}
          actions={[adoption]}
          onClose={close}
        />
      )}
    />
  );
}
