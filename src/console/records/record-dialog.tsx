import type { ComponentChildren } from "preact";
import { Dialog, FormActions } from "../components/dialog.tsx";
import { type KeptDraft, KeptNotice, SecretHint } from "../components/kept-draft.tsx";
import { type NewerState, Outdated } from "./outdated.tsx";

/**
 * Dialog with the form of a record: notices of kept inputs and of a newer state, fields and buttons. A
 * cancelled dialog discards the kept inputs.
 */
export function RecordDialog(props: {
  readonly title: string;
  readonly kept: Omit<KeptDraft<never>, "draft">;
  readonly newer: NewerState | undefined;
  readonly busy: boolean;
  /** Label of the button that saves. */
  readonly label: string;
  readonly onSave: () => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const { kept, busy } = props;
  const cancel = (): void => {
    kept.forget();
    props.onClose();
  };
  return (
    <Dialog title={props.title} onClose={cancel}>
      <KeptNotice of={kept} />
      <Outdated of={props.newer} />
      <form
        class="block-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          props.onSave();
        }}
      >
        {props.children}
        <SecretHint of={kept} />
        <FormActions label={props.label} busy={busy} onCancel={cancel} />
      </form>
    </Dialog>
  );
}
