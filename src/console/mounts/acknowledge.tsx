import { useSignal } from "@preact/signals";
import { problemOf } from "../api/failure.ts";
import { incidentService } from "../api/incidents.ts";
import { Dialog, DialogButton, FormActions } from "../components/dialog.tsx";
import { Field } from "../components/field.tsx";
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
  const wrong = useSignal<string | undefined>(undefined);
  const busy = useSignal(false);
  const act = async (): Promise<void> => {
    busy.value = true;
    try {
      await incidentService.acknowledgeIncident({ id, note: note.value.trim() });
      onClose();
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  return (
    <Dialog title={t("incident.acknowledge")} onClose={onClose}>
      <form
        class="block-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value) void act();
        }}
      >
        <p class="quiet">{t("incident.acknowledgeAbout")}</p>
        <Field
          label={t("incident.note")}
          hint={t("incident.noteHint")}
          wrong={wrong.value}
          value={note.value}
          onChange={(text) => {
            note.value = text;
          }}
        />
        <FormActions label={t("incident.acknowledge")} busy={busy.value} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
