import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Signal, useSignal } from "@preact/signals";
import type {
  Backup,
  BackupCount,
  BackupOmission,
  CheckBackupResponse,
  CreateBackupResponse,
} from "../../../gen/mooring/v1/backup_service_pb.js";
import { backupService } from "../api/backup.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { saveFile } from "../components/save-file.ts";
import { Failed, Notice, Skeleton } from "../components/state.tsx";
import { useTask } from "../components/task.tsx";
import { Fact, When } from "../components/text.tsx";
import { useCall } from "../components/use-call.ts";
import { number, t } from "../i18n/language.ts";
import { partName } from "./parts.tsx";
import { Passphrase } from "./passphrase.tsx";

/** Time limit of long calls, in milliseconds. */
const PATIENCE = 600_000;

/** Backups in the target of the service: creation, check, restore and removal of old ones. */
export function StoredBackups(props: {
  /** Name of the backup to restore, which the import shows. */
  readonly chosen: Signal<string | undefined>;
}) {
  const { chosen } = props;
  const passphrase = useSignal("");
  const created = useSignal<CreateBackupResponse | undefined>(undefined);
  const checked = useSignal<CheckBackupResponse | undefined>(undefined);
  const name = useSignal("");
  const asksPrune = useSignal(false);
  const { data, failure, again } = useCall(
    (signal) => backupService.listBackups({}, { signal }),
    [],
  );
  const options = (signal: AbortSignal) => ({ signal, timeoutMs: PATIENCE });
  const creation = useTask(async (signal) => {
    created.value = undefined;
    // In the place of the service, only the permanent token chooses the passphrase.
    const request = { passphrase: may("root") ? passphrase.value : "" };
    created.value = await backupService.createBackup(request, options(signal));
    again();
  });
  const download = useTask(async (signal) => {
    created.value = undefined;
    const request = { passphrase: passphrase.value, download: true };
    const reply = await backupService.createBackup(request, options(signal));
    const day = new Date().toISOString().slice(0, 10);
    saveFile(`mooring-backup-${day}.json`, `${JSON.stringify(reply.document)}\n`);
    created.value = reply;
  });
  const check = useTask(async (signal) => {
    checked.value = undefined;
    const request = { name: name.peek(), passphrase: passphrase.value };
    checked.value = await backupService.checkBackup(request, options(signal));
  });
  const isBusy = creation.busy || download.busy || check.busy;
  const hasOwn = passphrase.value !== "";
  const hasTarget = data !== undefined && data.target !== "";
  return (
    <section class="sheet block" aria-labelledby="stored-title">
      <div>
        <h2 id="stored-title">{t("stored.title")}</h2>
        <p class="quiet">{t("stored.about")}</p>
      </div>
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={2} />}
      {data && !hasTarget && <p class="quiet">{t("stored.noTarget")}</p>}
      {data && data.problem !== "" && <Notice kind="wrong">{data.problem}</Notice>}
      {data && hasTarget && (
        <dl class="facts">
          <Fact name={t("stored.target")}>{data.target}</Fact>
          <Fact name={t("stored.schedule")}>
            {data.schedule === "" ? t("stored.noSchedule") : `${data.schedule} (${data.timeZone})`}
          </Fact>
          <Fact name={t("stored.keep")}>{data.keep}</Fact>
          {data.nextTime && (
            <Fact name={t("stored.next")}>
              <When time={timestampMs(data.nextTime)} ahead />
            </Fact>
          )}
        </dl>
      )}
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
            {hasTarget && (
              <Button
                kind="main"
                icon="backup"
                disabled={isBusy || (!data.hasPassphrase && !(may("root") && hasOwn))}
                onClick={creation.start}
              >
                {t("stored.create")}
              </Button>
            )}
            <Button
              disabled={isBusy || !(hasOwn || (data.hasPassphrase && may("root")))}
              onClick={download.start}
            >
              {t("stored.download")}
            </Button>
            {hasTarget && (
              <Button
                disabled={isBusy}
                onClick={() => {
                  asksPrune.value = true;
                }}
              >
                {t("stored.prune")}
              </Button>
            )}
          </div>
        </>
      )}
      {creation.view}
      {download.view}
      {created.value && (
        <Notice kind={created.value.omissions.length > 0 ? "warning" : "good"}>
          {t("stored.created", { name: created.value.backup?.name ?? "" })}{" "}
          <Contents counts={created.value.counts} omissions={created.value.omissions} />
          <Names title={t("stored.removed")} of={created.value.removed} />
        </Notice>
      )}
      {check.view}
      {checked.value && <Verdict name={name.value} of={checked.value} />}
      {data?.backups.length === 0 && hasTarget && <p class="quiet">{t("stored.none")}</p>}
      <ul class="sites">
        {data?.backups.map((backup) => (
          <li key={backup.name}>
            <div>
              <p>
                <code>{backup.name}</code>{" "}
                {!backup.own && <span class="badge">{t("stored.other")}</span>}
              </p>
              <p class="quiet small">
                {backup.createTime && <When time={timestampMs(backup.createTime)} />}
                {` · ${number(Math.ceil(Number(backup.size) / 1_000))} kB`}
              </p>
            </div>
            <div class="ways">
              <Button
                disabled={isBusy}
                onClick={() => {
                  name.value = backup.name;
                  check.start();
                }}
              >
                {t("stored.check")}
              </Button>
              {may("backup:import") && (
                <Button
                  onClick={() => {
                    chosen.value = backup.name;
                  }}
                >
                  {t("stored.restore")}
                </Button>
              )}
            </div>
          </li>
        ))}
      </ul>
      {asksPrune.value && (
        <PruneDialog
          onDone={again}
          onClose={() => {
            asksPrune.value = false;
          }}
        />
      )}
    </section>
  );
}

/** Result of a check: numbers of entries, and what a restore would not bring back. */
function Verdict({ name, of }: { readonly name: string; readonly of: CheckBackupResponse }) {
  if (of.problem !== "")
    return (
      <Notice kind="wrong">
        {name}: {of.problem}
      </Notice>
    );
  const isWhole = of.omissions.length === 0 && of.losses.length === 0;
  return (
    <Notice kind={isWhole ? "good" : "warning"}>
      {t("stored.good", { name, version: of.version })}{" "}
      <Contents counts={of.counts} omissions={of.omissions} />
      {of.losses.length > 0 && (
        <>
          <p>{t("stored.losses")}</p>
          <ul>
            {of.losses.map((loss) => (
              <li key={`${loss.part} ${loss.name}`}>
                {partName(loss.part)} {loss.name}: {loss.note || loss.missing.join(", ")}
              </li>
            ))}
          </ul>
        </>
      )}
    </Notice>
  );
}

/** Numbers of entries by part, and what a backup does not have. */
function Contents(props: {
  readonly counts: readonly BackupCount[];
  readonly omissions: readonly BackupOmission[];
}) {
  return (
    <>
      {props.counts.map(({ part, count }) => `${partName(part)}: ${number(count)}`).join(" · ")}
      {props.omissions.length > 0 && (
        <>
          <p>{t("stored.omissions")}</p>
          <ul>
            {props.omissions.map(({ part, names, scope, reason }) => (
              <li key={`${part} ${names.join()}`}>
                {[partName(part), ...names].join(" ")} {reason || scope}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Names({ title, of }: { readonly title: string; readonly of: readonly Backup[] }) {
  if (of.length === 0) return null;
  return (
    <>
      <p>{title}</p>
      <ul>
        {of.map(({ name }) => (
          <li key={name}>
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Confirmation of the removal of old backups, which names them. */
function PruneDialog(props: { readonly onDone: () => void; readonly onClose: () => void }) {
  const { data, failure } = useCall(
    (signal) => backupService.pruneBackups({ dryRun: true }, { signal }),
    [],
  );
  return (
    <Confirm
      title={t("stored.prune")}
      action={t("stored.pruneNow", { count: data?.removed.length ?? 0 })}
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
