import { useSignal } from "@preact/signals";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Dialog, FormActions } from "../components/dialog.tsx";
import { Check } from "../components/field.tsx";
import { saveFile } from "../components/save-file.ts";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { mountDialogTexts } from "../i18n/en/mount-dialogs.ts";
import { addMessages, t } from "../i18n/language.ts";
import { SiteSelect, useSiteNames } from "../records/site-select.tsx";

addMessages(mountDialogTexts);

/** Dialog for an export of mounts: the site whose values are exported, and whether secrets are included. */
export function ExportDialog(props: {
  readonly names: readonly string[];
  readonly onClose: () => void;
}) {
  const { onClose } = props;
  const site = useSignal("");
  const reveal = useSignal(false);
  const { busy, problem, run } = useAction();
  const siteNames = useSiteNames();
  const save = () =>
    run(async ({ gone }) => {
      const request = { names: [...props.names], site: site.value, reveal: reveal.value };
      const { document } = await mountService.exportMounts(request, { signal: gone });
      saveFile(`${props.names[0] ?? "mounts"}.json`, JSON.stringify(document, null, 2));
      onClose();
    });
  return (
    <Dialog title={t("mount.export")} onClose={onClose}>
      <form
        class="block-form"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <p class="quiet">{t("mount.exportAbout")}</p>
        <SiteSelect
          label={t("mount.exportSite")}
          names={siteNames}
          none={t("mount.exportNoSite")}
          value={site.value}
          onChange={(name) => {
            site.value = name;
          }}
        />
        {may("mounts:reveal") && (
          <Check
            label={t("mount.exportSecrets")}
            checked={reveal.value}
            onChange={(checked) => {
              reveal.value = checked;
            }}
          />
        )}
        {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
        <FormActions label={t("mount.exportNow")} busy={busy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
