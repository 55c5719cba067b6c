import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type {
  CreateBackupResponse,
  ListBackupsResponse,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import { backupService } from "../api/backup.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { saveFile } from "../components/save-file.ts";
import { Notice } from "../components/state.tsx";
import { useTask } from "../components/task.tsx";
import { t } from "../i18n/language.ts";
import { Contents, Names } from "./contents.tsx";

/** Time limit of a creation, in milliseconds. */
const PATIENCE = 600_000;

/** Creation of a backup in the target, or as a file of the browser. */
interface Creation {
  readonly busy: boolean;
  readonly toTarget: () => void;
  readonly toFile: () => void;
  /** Progress, or the result. */
  readonly view: ComponentChildren;
}

/**
 * Creation of a backup, which the user can end.
 *
 * @param passphrase typed one.
 * @param onStored called after a backup was written to the target.
 */
export function useCreation(passphrase: Signal<string>, onStored: () => void): Creation {
  const created = useSignal<CreateBackupResponse | undefined>(undefined);
  const options = (signal: AbortSignal) => ({ signal, timeoutMs: PATIENCE });
  const storing = useTask(async (signal) => {
    created.value = undefined;
    // In the place of the service, only the permanent token chooses the passphrase.
    const request = { passphrase: may("root") ? passphrase.value : "" };
    created.value = await backupService.createBackup(request, options(signal));
    onStored();
  });
  const download = useTask(async (signal) => {
    created.value = undefined;
    const request = { passphrase: passphrase.value, download: true };
    const reply = await backupService.createBackup(request, options(signal));
    const day = new Date().toISOString().slice(0, 10);
    saveFile(`mooring-backup-${day}.json`, `${JSON.stringify(reply.document)}\n`);
    created.value = reply;
  });
  const view = (
    <>
      {storing.view}
      {download.view}
      {created.value && <Created of={created.value} />}
    </>
  );
  return {
    busy: storing.busy || download.busy,
    toTarget: storing.start,
    toFile: download.start,
    view,
  };
}

/** Buttons that create a backup; each needs a passphrase, of the service or typed. */
export function CreationButtons(props: {
  readonly target: ListBackupsResponse;
  /** Whether a passphrase is typed. */
  readonly hasOwn: boolean;
  readonly isBusy: boolean;
  readonly of: Creation;
}) {
  const { hasOwn, isBusy, of } = props;
  const { target, hasPassphrase } = props.target;
  return (
    <>
      {target !== "" && (
        <Button
          kind="main"
          icon="backup"
          disabled={isBusy || (!hasPassphrase && !(may("root") && hasOwn))}
          onClick={of.toTarget}
        >
          {t("stored.create")}
        </Button>
      )}
      <Button disabled={isBusy || !(hasOwn || (hasPassphrase && may("root")))} onClick={of.toFile}>
        {t("stored.download")}
      </Button>
    </>
  );
}

/** Result of a creation, with the old backups that it removed. */
function Created({ of }: { readonly of: CreateBackupResponse }) {
  return (
    <Notice kind={of.omissions.length > 0 ? "warning" : "good"}>
      {t("stored.created", { name: of.backup?.name ?? "" })}{" "}
      <Contents counts={of.counts} omissions={of.omissions} />
      <Names title={t("stored.removed")} of={of.removed} />
    </Notice>
  );
}
