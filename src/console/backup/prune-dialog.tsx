import { backupService } from "../api/backup.ts";
import { Confirm } from "../components/dialog.tsx";
import { Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { Names } from "./contents.tsx";

/** Confirmation of the removal of old backups, which names them. */
export function PruneDialog(props: { readonly onDone: () => void; readonly onClose: () => void }) {
  const { data, failure } = useCall(
    (signal) => backupService.pruneBackups({ dryRun: true }, { signal }),
    [],
  );
  return (
    <Confirm
      title={t("stored.prune")}
      action={t("stored.pruneNow", { count: data?.removed.length ?? 0 })}
      disabled={data === undefined || data.removed.length === 0}
      onAction={() => backupService.pruneBackups({}).then(props.onDone)}
      onClose={props.onClose}
    >
      {failure && <p class="wrong">{failure.message}</p>}
      {!data && !failure && <Skeleton rows={2} />}
      {data?.removed.length === 0 && <p class="quiet">{t("stored.nothingOld")}</p>}
      {data && <Names title={t("stored.removes")} of={data.removed} />}
      {data && data.others.length > 0 && (
        <p class="quiet">{t("stored.others", { count: data.others.length })}</p>
      )}
    </Confirm>
  );
}
