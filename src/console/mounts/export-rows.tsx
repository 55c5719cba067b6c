import { DialogButton } from "../components/dialog.tsx";
import { lazy } from "../components/lazy.tsx";
import { t } from "../i18n/language.ts";

const ExportDialog = lazy(() =>
  import("./export-dialog.tsx").then((module) => module.ExportDialog),
);

/**
 * Export of mounts as rows, which the backup page of a server reads.
 *
 * @param names empty: all mounts.
 */
export function ExportRows({ names }: { readonly names: readonly string[] }) {
  return (
    <DialogButton
      icon="file"
      label={t("mount.export")}
      dialog={(close) => <ExportDialog names={names} onClose={close} />}
    />
  );
}
