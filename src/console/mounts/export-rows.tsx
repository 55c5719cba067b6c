import { useSignal } from "@preact/signals";
import { Button } from "../components/button.tsx";
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
  const isOpen = useSignal(false);
  return (
    <>
      <Button
        icon="file"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {t("mount.export")}
      </Button>
      {isOpen.value && (
        <ExportDialog
          names={names}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}
