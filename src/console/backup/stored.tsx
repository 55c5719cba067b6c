import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Signal, useSignal } from "@preact/signals";
import type {
  Backup,
  CheckBackupResponse,
  ListBackupsResponse,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import { backupService } from "../api/backup.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { DialogButton } from "../components/dialog.tsx";
import { Failed, Notice, Skeleton } from "../components/state.tsx";
import { useTask } from "../components/task.tsx";
import { Fact, When } from "../components/text.tsx";
import { useCall } from "../components/use-call.ts";
import { number, t } from "../i18n/language.ts";
import { Verdict } from "./contents.tsx";
import { CreationButtons, useCreation } from "./creation.tsx";
import { Passphrase } from "./passphrase.tsx";
import { PruneDialog } from "./prune-dialog.tsx";

/** Time limit of a check, in milliseconds. */
const PATIENCE = 600_000;

/** Backups in the target of the service: creation, check, restore and removal of old ones. */
export function StoredBackups(props: {
  /** Name of the backup to restore, which the import shows. */
  readonly chosen: Signal<string | undefined>;
}) {
  const passphrase = useSignal("");
  const checked = useSignal<CheckBackupResponse | undefined>(undefined);
  const name = useSignal("");
  const { data, failure, again } = useCall(
    (signal) => backupService.listBackups({}, { signal }),
    [],
  );
  const creation = useCreation(passphrase, again);
  const check = useTask(async (signal) => {
    checked.value = undefined;
    const request = { name: name.peek(), passphrase: passphrase.value };
    checked.value = await backupService.checkBackup(request, { signal, timeoutMs: PATIENCE });
  });
  const isBusy = creation.busy || check.busy;
  return (
    <section class="sheet block" aria-labelledby="stored-title">
      <div>
        <h2 id="stored-title">{t("stored.title")}</h2>
        <p class="quiet">{t("stored.about")}</p>
      </div>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={2} />}
      {data && <Target of={data} />}
      {data && (
        <>
          <Passphrase
            hint={t(data.hasPassphrase ? "stored.passphraseHint" : "stored.passphraseNeeded")}
            autocomplete="off"
            value={passphrase.value}
            onChange={(text) => {
              passphrase.value = text;
            }}
          />
          <div class="ways">
            <CreationButtons
              target={data}
              hasOwn={passphrase.value !== ""}
              isBusy={isBusy}
              of={creation}
            />
            {data.target !== "" && (
              <DialogButton
                label={t("stored.prune")}
                disabled={isBusy}
                dialog={(close) => <PruneDialog onDone={again} onClose={close} />}
              />
            )}
          </div>
        </>
      )}
      {creation.view}
      {check.view}
      {checked.value && <Verdict name={name.value} of={checked.value} />}
      {data?.backups.length === 0 && data.target !== "" && <p class="quiet">{t("stored.none")}</p>}
      <ul class="sites">
        {data?.backups.map((backup) => (
          <OneBackup
            key={backup.name}
            of={backup}
            isBusy={isBusy}
            onCheck={() => {
              name.value = backup.name;
              check.start();
            }}
            onRestore={() => {
              props.chosen.value = backup.name;
            }}
          />
        ))}
      </ul>
    </section>
  );
}

/** Place of the backups, with their schedule, or why there is none. */
function Target({ of }: { readonly of: ListBackupsResponse }) {
  const { target, problem, schedule, timeZone, keep, nextTime } = of;
  return (
    <>
      {target === "" && <p class="quiet">{t("stored.noTarget")}</p>}
      {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
      {target !== "" && (
        <dl class="facts">
          <Fact name={t("stored.target")}>{target}</Fact>
          <Fact name={t("stored.schedule")}>
            {schedule === "" ? t("stored.noSchedule") : `${schedule} (${timeZone})`}
          </Fact>
          <Fact name={t("stored.keep")}>{keep}</Fact>
          {nextTime && (
            <Fact name={t("stored.next")}>
              <When time={timestampMs(nextTime)} ahead />
            </Fact>
          )}
        </dl>
      )}
    </>
  );
}

/** Backup in the target, with a check and its restore. */
function OneBackup(props: {
  readonly of: Backup;
  readonly isBusy: boolean;
  readonly onCheck: () => void;
  readonly onRestore: () => void;
}) {
  const { name, own, createTime, size } = props.of;
  return (
    <li>
      <div>
        <p>
          <code>{name}</code> {!own && <span class="badge">{t("stored.other")}</span>}
        </p>
        <p class="quiet small">
          {createTime && <When time={timestampMs(createTime)} />}
          {` · ${number(Math.ceil(Number(size) / 1_000))} kB`}
        </p>
      </div>
      <div class="ways">
        <Button disabled={props.isBusy} onClick={props.onCheck}>
          {t("stored.check")}
        </Button>
        {may("backup:import") && <Button onClick={props.onRestore}>{t("stored.restore")}</Button>}
      </div>
    </li>
  );
}
