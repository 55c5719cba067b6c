import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n/language.ts";
import { Button, type IconName } from "./button.tsx";
import { type Run, useAction } from "./use-action.ts";
import "./dialog.css";

interface DialogProps {
  readonly title: string;
  /** Called when the dialog was closed by a button or Escape; it must no longer be rendered. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Modal dialog, open as long as it is rendered. The focus stays in it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="dialog" ref={dialog} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** Button that opens a dialog. */
export function DialogButton(props: {
  readonly label: string;
  readonly icon?: IconName;
  readonly disabled?: boolean;
  /** The dialog, which calls `close` at its end. */
  readonly dialog: (close: () => void) => ComponentChildren;
}) {
  const { label, icon, disabled = false } = props;
  const isOpen = useSignal(false);
  return (
    <>
      <Button
        {...(icon && { icon })}
        disabled={disabled}
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {label}
      </Button>
      {isOpen.value &&
        props.dialog(() => {
          isOpen.value = false;
        })}
    </>
  );
}

/** Buttons of a form in a dialog: cancel and submit. */
export function FormActions(props: {
  readonly label: string;
  readonly busy: boolean;
  readonly onCancel: () => void;
}) {
  return (
    <div class="actions">
      <Button onClick={props.onCancel}>{t("action.cancel")}</Button>
      <Button kind="main" type="submit" disabled={props.busy}>
        {props.label}
      </Button>
    </div>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** Description of the loss. */
  readonly children: ComponentChildren;
  /** Label of the button. */
  readonly action: string;
  /** Whether there is nothing to do. */
  readonly disabled?: boolean;
  /**
   * Runs the action. After a failure the dialog stays open and shows the reason.
   */
  readonly onAction: (run: Run) => Promise<unknown>;
  readonly onClose: () => void;
}

/** Dialog before an action that can't be undone. */
export function Confirm(props: ConfirmProps) {
  const { title, children, action, disabled = false, onAction, onClose } = props;
  const { busy, problem, run } = useAction();
  const act = () =>
    run(async (current) => {
      await onAction(current);
      if (!current.gone.aborted) onClose();
    });
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="question">{children}</div>
      <p class="wrong" role="alert">
        {problem}
      </p>
      <div class="actions">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button kind="danger" disabled={busy || disabled} onClick={() => void act()}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
