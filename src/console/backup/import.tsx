import type { JsonObject } from "@bufbuild/protobuf";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import {
  ImportOutcome,
  type ImportSettingsResponse,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { settingsOnly } from "../../client/backup-document.ts";
import { settingService } from "../api/client.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { asOwn, settings } from "../api/live.ts";
import { Button, Icon } from "../components/button.tsx";
import { Check, ReasonField } from "../components/field.tsx";
import { mistakeOf } from "../components/json-mistake.ts";
import { Notice } from "../components/state.tsx";
import { number, t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { Passphrase } from "./passphrase.tsx";

/** Pause after a key press before the passphrase is tried, in milliseconds. */
const TRY_AFTER = 500;

interface Backup {
  readonly name: string;
  readonly document: JsonObject;
}

/** Imports a backup: a preview of each setting first, then the import. */
export function Import() {
  const backup = useSignal<Backup | undefined>(undefined);
  const passphrase = useSignal("");
  const skipInvalid = useSignal(false);
  const includeServerOwn = useSignal(false);
  const reason = useSignal("");
  const unread = useSignal("");
  const preview = useSignal<ImportSettingsResponse | undefined>(undefined);
  const done = useSignal<ImportSettingsResponse | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const busy = useSignal(false);
  const from = backup.value;
  const request = {
    ...(from && { document: from.document }),
    passphrase: passphrase.value,
    skipInvalid: skipInvalid.value,
    includeServerOwn: includeServerOwn.value,
  };

  useEffect(() => {
    preview.value = undefined;
    if (from === undefined || done.peek() !== undefined) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(
      () =>
        settingService.importSettings({ ...request, dryRun: true }, { signal }).then(
          (reply) => {
            preview.value = reply;
            failure.value = undefined;
          },
          (thrown: unknown) => {
            if (!signal.aborted) failure.value = failureOf(thrown);
          },
        ),
      passphrase.value === "" ? 0 : TRY_AFTER,
    );
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [from, passphrase.value, skipInvalid.value, includeServerOwn.value, settings.value?.revision]);

  const take = async (file: File): Promise<void> => {
    done.value = undefined;
    failure.value = undefined;
    const text = await file.text();
    const mistake = mistakeOf(text);
    const document: unknown = mistake ? undefined : JSON.parse(text);
    const isDocument = typeof document === "object" && document !== null;
    if (mistake) unread.value = t("json.mistake", { line: mistake.line, column: mistake.column });
    else if (!isDocument || Array.isArray(document)) unread.value = t("import.noDocument");
    else unread.value = "";
    backup.value =
      unread.value === ""
        ? { name: file.name, document: settingsOnly(document as JsonObject) }
        : undefined;
  };
  const commit = async (): Promise<void> => {
    busy.value = true;
    try {
      done.value = await asOwn(
        settingService.importSettings({ ...request, reason: reason.value.trim() }),
      );
      backup.value = undefined;
      passphrase.value = "";
      includeServerOwn.value = false;
      failure.value = undefined;
    } catch (thrown) {
      failure.value = failureOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  const changing = preview.value
    ? countOf(preview.value, "added") + countOf(preview.value, "changed")
    : 0;
  return (
    <section class="sheet block" aria-labelledby="import-title">
      <div>
        <h2 id="import-title">{t("import.title")}</h2>
        <p class="quiet">{t("import.about")}</p>
      </div>
      <DropZone name={from?.name} onFile={(file) => void take(file)} />
      <p class="wrong" role="alert">
        {unread}
      </p>
      {from && (
        <form
          class="block-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!busy.value && changing > 0) void commit();
          }}
        >
          <Passphrase hint={t("import.passphraseHint")} autocomplete="off" value={passphrase} />
          <Check
            label={t("import.skipInvalid")}
            checked={skipInvalid.value}
            onChange={(checked) => {
              skipInvalid.value = checked;
            }}
          />
          <Check
            label={t("import.includeServerOwn")}
            checked={includeServerOwn.value}
            onChange={(checked) => {
              includeServerOwn.value = checked;
            }}
          />
          <Refusal failure={failure.value} />
          {preview.value && <OutcomeTable result={preview.value} />}
          {preview.value && changing === 0 && <p class="quiet">{t("change.none")}</p>}
          {changing > 0 && (
            <div class="commit">
              <ReasonField
                value={reason.value}
                onChange={(text) => {
                  reason.value = text;
                }}
              />
              <Button kind="main" type="submit" disabled={busy.value}>
                {t("import.commit", { count: changing })}
              </Button>
            </div>
          )}
        </form>
      )}
      {done.value && (
        <>
          <Notice kind="good">
            <span>
              {t("import.done")}{" "}
              <a href={href("history", { revision: String(done.value.revision) })}>
                {t("row.revision", { revision: String(done.value.revision) })}
              </a>
            </span>
          </Notice>
          <OutcomeTable result={done.value} />
        </>
      )}
    </section>
  );
}

/** Reason for which a backup is rejected, with all invalid values. */
function Refusal({ failure }: { readonly failure: Failure | undefined }) {
  if (failure === undefined) return null;
  const { violations, message } = failure;
  return (
    <Notice kind="wrong">
      {violations.length === 0 ? (
        <span>{message || t("state.offline")}</span>
      ) : (
        <>
          <strong>{t("review.refused", { count: violations.length })}</strong>
          <ul>
            {violations.map(({ field, description }) => (
              <li key={field}>{description}</li>
            ))}
          </ul>
        </>
      )}
    </Notice>
  );
}

/** Input for one file, by drag and drop or selection. */
function DropZone(props: {
  /** Name of the accepted file. */
  readonly name: string | undefined;
  readonly onFile: (file: File) => void;
}) {
  const over = useSignal(false);
  const take = (files: FileList | null | undefined): void => {
    const file = files?.[0];
    if (file !== undefined) props.onFile(file);
  };
  return (
    <label
      class={over.value ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => {
        over.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        take(event.dataTransfer?.files);
      }}
    >
      <Icon name="file" />
      <span>{props.name ?? t("import.drop")}</span>
      <input
        type="file"
        class="unseen"
        accept=".json,application/json"
        onChange={(event) => {
          take(event.currentTarget.files);
          // Allows choosing the same file again.
          event.currentTarget.value = "";
        }}
      />
    </label>
  );
}

const OUTCOMES = {
  added: ImportOutcome.ADDED,
  changed: ImportOutcome.CHANGED,
  skipped: ImportOutcome.SKIPPED,
  unchanged: ImportOutcome.UNCHANGED,
} as const;

type Outcome = keyof typeof OUTCOMES;

const ORDER = Object.keys(OUTCOMES) as Outcome[];
/** Number of rows shown at first. */
const MOST = 200;

function countOf({ settings }: ImportSettingsResponse, outcome: Outcome): number {
  return settings.filter((one) => one.outcome === OUTCOMES[outcome]).length;
}

/** Outcome, or preview, of each setting of a backup. Unchanged settings are hidden at first. */
function OutcomeTable({ result }: { readonly result: ImportSettingsResponse }) {
  const hidden = useSignal<readonly Outcome[]>(["unchanged"]);
  const toggle = (outcome: Outcome): void => {
    const rest = hidden.value.filter((one) => one !== outcome);
    hidden.value = rest.length < hidden.value.length ? rest : [...rest, outcome];
  };
  const nameOf = (outcome: ImportOutcome) => ORDER.find((one) => OUTCOMES[one] === outcome);
  const rows = ORDER.filter((one) => !hidden.value.includes(one)).flatMap((one) =>
    result.settings.filter(({ outcome }) => outcome === OUTCOMES[one]),
  );
  return (
    <div class="outcomes">
      <fieldset class="marks" aria-label={t("settings.filters")}>
        {ORDER.map((one) => (
          <Button key={one} aria-pressed={!hidden.value.includes(one)} onClick={() => toggle(one)}>
            {t(`outcome.${one}`)} <span class="tally">{number(countOf(result, one))}</span>
          </Button>
        ))}
      </fieldset>
      {rows.length > 0 && (
        <div class="table">
          <table>
            <thead>
              <tr>
                <th scope="col">{t("history.key")}</th>
                <th scope="col">{t("outcome.label")}</th>
                <th scope="col">{t("outcome.why")}</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, MOST).map(({ key, outcome, reason }) => (
                <tr key={key}>
                  <td>
                    <code>{key}</code>
                  </td>
                  <td>{t(`outcome.${nameOf(outcome) ?? "unchanged"}`)}</td>
                  <td class="quiet">{reason}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rows.length > MOST && (
        <p class="quiet small">{t("toast.more", { count: rows.length - MOST })}</p>
      )}
    </div>
  );
}
