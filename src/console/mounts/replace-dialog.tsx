import { useSignal } from "@preact/signals";
import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { mountService } from "../api/mounts.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ReasonField } from "../components/field.tsx";
import { SelectField } from "../components/select-field.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { mountDialogTexts } from "../i18n/en/mount-dialogs.ts";
import { addMessages, t } from "../i18n/language.ts";
import { Results } from "../records/results.tsx";
import type { SecretPlace } from "./input.ts";

addMessages(mountDialogTexts);

/** Dialog for the new value of a credential, with a preview. */
export function ReplaceDialog({
  name,
  places,
  info,
  onClose,
}: {
  readonly name: string;
  readonly places: readonly SecretPlace[];
  readonly info: DriverInfo | undefined;
  readonly onClose: () => void;
}) {
  const chosen = useSignal(0);
  const value = useSignal("");
  const preview = useSignal<readonly MountResult[] | undefined>(undefined);
  const { busy, problem, run } = useAction();
  const reason = useSignal("");
  const labelOf = ({ item, site }: SecretPlace): string => {
    const label = info?.additional.find((each) => each.name === item)?.label || item;
    return site === "" ? label : `${label} (${site})`;
  };
  const act = (dryRun: boolean) =>
    run(
      async ({ gone }) => {
        const place = places[chosen.value];
        const request = { name, ...place, value: value.value, dryRun, reason: reason.value.trim() };
        preview.value = (await mountService.replaceCredential(request)).results;
        if (!dryRun && !gone.aborted) onClose();
      },
      () => {
        preview.value = undefined;
      },
    );
  return (
    <Dialog title={t("mount.replace")} onClose={onClose}>
      <p class="quiet">{t("mount.replaceAbout")}</p>
      <SelectField
        label={t("mount.credential")}
        options={places.map((place, at) => [String(at), labelOf(place)] as const)}
        value={String(chosen.value)}
        onChange={(at) => {
          chosen.value = Number(at);
          preview.value = undefined;
        }}
      />
      <div>
        <label class="label" for="replace-value">
          {t("mount.newValue")}
        </label>
        <input
          id="replace-value"
          class="input mono"
          type="password"
          autocomplete="off"
          value={value.value}
          onInput={(event) => {
            value.value = event.currentTarget.value;
            preview.value = undefined;
          }}
        />
      </div>
      {preview.value && (
        <>
          <Results results={preview.value} />
          <ReasonField
            value={reason.value}
            onChange={(text) => {
              reason.value = text;
            }}
          />
        </>
      )}
      {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
      <div class="ways">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button disabled={busy || value.value === ""} onClick={() => void act(true)}>
          {t("record.preview")}
        </Button>
        {preview.value && (
          <Button kind="main" disabled={busy} onClick={() => void act(false)}>
            {t("mount.replaceNow")}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
