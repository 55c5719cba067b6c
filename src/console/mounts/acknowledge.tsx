import { useSignal } from "@preact/signals";
import { incidentService } from "../api/incidents.ts";
import { Dialog, DialogButton, FormActions } from "../components/dialog.tsx";
import { Field } from "../components/field.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";

/** Button that acknowledges an incident, with a note for others. */
export function Acknowledge({ id }: { readonly id: string }) {
  return (
    <DialogButton
      label={t("incident.acknowledge")}
      dialog={(close) => <AcknowledgeDialog id={id} onClose={close} />}
    />
  );
}

function AcknowledgeDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const note = useSignal("");
  const { busy, problem, run } = useAction();
  const act = () =>
    run(async ({ gone }) => {
      await incidentService.acknowledgeIncident({ id, note: note.value.trim() });
      if (!gone.aborted) onClose();
    });
  return (
    <Dialog title={t("incident.acknowledge")} onClose={onClose}>
      <form
        class="block-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <p class="quiet">{t("incident.acknowledgeAbout")}</p>
        <Field
          label={t("incident.note")}
          hint={t("incident.noteHint")}
          wrong={problem || undefined}
          value={note.value}
          onChange={(text) => {
            note.value = text;
          }}
        />
        <FormActions label={t("incident.acknowledge")} busy={busy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
