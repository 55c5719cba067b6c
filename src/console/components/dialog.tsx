import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./dialog.css";

interface DialogProps {
  readonly title: string;
  /** It was closed, by a button of it or by Escape: it is to be rendered no longer. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A question that has to be answered first, for as long as it is rendered. The focus stays in it. */
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
