import type { ComponentChildren, JSX, Ref } from "preact";
import { Icon, type IconName } from "./icon.tsx";
import "./button.css";

interface ButtonProps extends Omit<JSX.IntrinsicElements["button"], "icon" | "ref"> {
  /** `main`: what the page is for, once at most; `bare`: beside text; default: any other. */
  readonly kind?: "main" | "bare" | "danger";
  readonly icon?: IconName;
  readonly buttonRef?: Ref<HTMLButtonElement>;
  readonly children?: ComponentChildren;
}

/** A button; with an icon alone it needs an `aria-label`, which is shown as its tip as well. */
export function Button({ kind, icon, children, buttonRef, ...rest }: ButtonProps) {
  const label = rest["aria-label"];
  return (
    <button
      type="button"
      class={["button", kind, children === undefined ? "alone" : ""].filter(Boolean).join(" ")}
      ref={buttonRef ?? null}
      {...(children === undefined && label !== undefined ? { title: label } : {})}
      {...rest}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
