import type { JsonObject } from "@bufbuild/protobuf";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ImportSettingsResponse } from "../../../gen/mooring/v1/setting_service_pb.js";
import { settingService } from "../api/client.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { asOwn, settings } from "../api/live.ts";
import { Button } from "../components/button.tsx";
import { mistakeOf } from "../components/json-mistake.ts";
import { ReasonField } from "../components/reason.tsx";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { DropZone } from "./drop-zone.tsx";
import { countOf, OutcomeTable } from "./outcome-table.tsx";

/** Pause after a key press in the passphrase before it is tried, in milliseconds. */
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
  }, [from, passphrase.value, skipInvalid.value, settings.value?.revision]);

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
      unread.value === "" ? { name: file.name, document: document as JsonObject } : undefined;
  };
  const commit = async (): Promise<void> => {
    busy.value = true;
    try {
      done.value = await asOwn(
        settingService.importSettings({ ...request, reason: reason.value.trim() }),
      );
      backup.value = undefined;
      passphrase.value = "";
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
          <label>
            <span class="label">
              {t("backup.passphrase")} <span class="quiet small">{t("import.passphraseHint")}</span>
            </span>
            <input
              class="input short"
              type="password"
              autocomplete="off"
              value={passphrase.value}
              onInput={(event) => {
                passphrase.value = event.currentTarget.value;
              }}
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={skipInvalid.value}
              onChange={(event) => {
                skipInvalid.value = event.currentTarget.checked;
              }}
            />
            <span>{t("import.skipInvalid")}</span>
          </label>
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

/** Why a backup is not taken, with every value that is refused. */
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
