import type { JsonObject } from "@bufbuild/protobuf";
import { useSignal } from "@preact/signals";
import { SecretsMode } from "../../../gen/mooring/v1/backup_service_pb.js";
import { backupService } from "../api/backup.ts";
import { may, rights } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { saveFile } from "../components/save-file.ts";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { backupTexts } from "../i18n/en/backup.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { addMessages, t } from "../i18n/language.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Import } from "./import.tsx";
import { EXPORTED, Parts, partName } from "./parts.tsx";
import { Passphrase } from "./passphrase.tsx";
import { StoredBackups } from "./stored.tsx";
import "../components/field.css";
import "./backup.css";

addMessages(backupTexts, pagesTexts, recordsTexts);

/** Backups in the target of the service, import and export of the whole site. */
export default function BackupPage() {
  const chosen = useSignal<string | undefined>(undefined);
  return (
    <>
      <PageHead title={t("page.backup")} />
      {may("backup:export") && <StoredBackups chosen={chosen} />}
      {may("backup:export") && <Export />}
      {may("backup:import") && <Import stored={chosen} />}
    </>
  );
}

/** Minimum length of a passphrase in the contract, in characters. */
const SHORTEST = 8;

const MODES = [
  { mode: SecretsMode.OMIT, name: "omit" },
  { mode: SecretsMode.SEAL, name: "seal" },
  { mode: SecretsMode.CLEAR, name: "clear" },
] as const;

/** Reports whether secrets can be exported; otherwise they are omitted. */
function mayTakeSecrets(): boolean {
  if (rights.value?.isVisitor !== false || !may("settings:reveal")) return false;
  return may("mounts:reveal") || !may("mounts:read");
}

/** Download of a backup, with the selected treatment of secrets. */
function Export() {
  const mode = useSignal<SecretsMode>(SecretsMode.OMIT);
  const passphrase = useSignal("");
  const only = useSignal<readonly string[]>([]);
  const leftOut = useSignal<readonly string[]>([]);
  const { busy, problem, run } = useAction();
  const seals = mode.value === SecretsMode.SEAL;
  const download = () =>
    run(async () => {
      if (seals && [...passphrase.value].length < SHORTEST)
        throw new Error(t("export.short", { count: SHORTEST }));
      const { document } = await backupService.exportArchive({
        secrets: mode.value,
        passphrase: seals ? passphrase.value : "",
        only: [...only.value],
      });
      const day = new Date().toISOString().slice(0, 10);
      saveFile(`mooring-${day}.json`, `${JSON.stringify(document, null, 2)}\n`);
      leftOut.value = leftOutOf(document);
      passphrase.value = "";
    });
  return (
    <section class="sheet block" aria-labelledby="export-title">
      <div>
        <h2 id="export-title">{t("export.title")}</h2>
        <p class="quiet">{t("export.about")}</p>
      </div>
      <form
        class="block-form"
        onSubmit={(event) => {
          event.preventDefault();
          void download();
        }}
      >
        <fieldset>
          <legend class="label">{t("export.secrets")}</legend>
          {MODES.slice(0, mayTakeSecrets() ? MODES.length : 1).map(({ mode: one, name }) => (
            <label key={name} class="check">
              <input
                type="radio"
                name="secrets"
                checked={mode.value === one}
                onChange={() => {
                  mode.value = one;
                }}
              />
              <span>
                {t(`export.${name}`)} <span class="quiet small">{t(`export.${name}Hint`)}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <Parts
          among={EXPORTED}
          chosen={only.value}
          onChange={(parts) => {
            only.value = parts;
          }}
        />
        {seals && (
          <Passphrase
            autocomplete="new-password"
            value={passphrase.value}
            onChange={(text) => {
              passphrase.value = text;
            }}
          />
        )}
        {mode.value === SecretsMode.CLEAR && (
          <Notice kind="warning">{t("export.clearWarning")}</Notice>
        )}
        {leftOut.value.length > 0 && (
          <Notice kind="warning">{t("export.leftOut", { names: leftOut.value.join(", ") })}</Notice>
        )}
        <p class="wrong" role="alert">
          {problem}
        </p>
        <div>
          <Button kind="main" icon="backup" type="submit" disabled={busy}>
            {t("export.download")}
          </Button>
        </div>
      </form>
    </section>
  );
}

/** Names of the entries and parts that the archive leaves out. */
function leftOutOf(document: JsonObject | undefined): string[] {
  const { leftOut = [] } = (document ?? {}) as {
    readonly leftOut?: readonly { readonly part: string; readonly names?: readonly string[] }[];
  };
  return leftOut.flatMap(({ part, names = [partName(part)] }) => names);
}
