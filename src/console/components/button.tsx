import type { ComponentChildren, JSX, Ref } from "preact";
import "./button.css";
import "./icon.css";

interface ButtonProps extends Omit<JSX.IntrinsicElements["button"], "icon" | "ref"> {
  /** `main`: primary action of the page, at most one; `bare`: beside text; default: any other. */
  readonly kind?: "main" | "bare" | "danger";
  readonly icon?: IconName;
  readonly buttonRef?: Ref<HTMLButtonElement>;
  readonly children?: ComponentChildren;
}

/** Button. Without text it needs an `aria-label`, which is also shown as a tooltip. */
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

/** SVG paths in a view box of 24 by 24, with a stroke width of 2. */
const PATHS = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  history: "M4 12a8 8 0 1 0 2.500-5.800L4 8.500M4 4v4.500h4.500M12 8v4.500l3 2",
  drivers:
    "M4 6c0-1.500 3.600-2.500 8-2.500s8 1 8 2.500-3.600 2.500-8 2.500S4 7.500 4 6zM4 6v12c0 1.500 3.600 2.500 8 2.500s8-1 8-2.500V6M4 12c0 1.500 3.600 2.500 8 2.500s8-1 8-2.500",
  sites: "M4 5h16v6H4zM4 13h16v6H4zM7.500 8h.5M7.500 16h.5M12 8h5M12 16h5",
  mounts: "M4 6h6l2 2h8v11H4zM8 13h8",
  webhooks:
    "M9 8.500a3 3 0 1 1 4.500 1.300l3 5.200M12 7l-3.500 6.500M7 13.500a3 3 0 1 0 3 4h7M17 15a3 3 0 1 1-2 5",
  backup: "M12 3v11M8 10.500l4 4 4-4M4 16v4h16v-4",
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM20 20l-4.800-4.800",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z",
  half: "M12 20.500a8.500 8.500 0 1 0 0-17 8.500 8.500 0 0 0 0 17zM12 3.500v17M12 7l5-1M12 11h8M12 15h8M12 19h4",
  leave: "M14 4H5v16h9M10 12h11M17.500 8.500 21 12l-3.500 3.500",
  reset: "M5 9h9a5 5 0 0 1 0 10H9M5 9l4-4M5 9l4 4",
  eye: "M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  hide: "M4 4l16 16M9.500 6c.8-.3 1.600-.5 2.500-.5 6 0 9.500 6.500 9.500 6.500a17 17 0 0 1-2.800 3.500M6.500 7.500A16 16 0 0 0 2.500 12S6 18.500 12 18.500c1.800 0 3.400-.6 4.700-1.400",
  close: "M6 6l12 12M18 6L6 18",
  add: "M12 5v14M5 12h14",
  back: "M19 12H5M11 6l-6 6 6 6",
  right: "M9 5l7 7-7 7",
  warning: "M12 4 2.500 20h19zM12 10v4.500M12 17v.5",
  done: "M4 12.500l5 5L20 6.500",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  key: "M15 3.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM11 13l-8 8M6.500 17.500 9 20M16 8v.5",
  audit:
    "M12 3l8 3v6c0 4.500-3.200 7.500-8 9-4.800-1.500-8-4.500-8-9V6zM8.500 12l2.500 2.500 4.500-5",
  person:
    "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20.500c.8-3.500 3.800-5.500 7.500-5.500s6.700 2 7.500 5.500",
  more: "M5 12h.5M12 12h.5M19 12h.5",
  lock: "M6 11h12v9H6zM8.500 11V7.500a3.500 3.500 0 0 1 7 0V11",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
} as const;

export type IconName = keyof typeof PATHS;

/** Decorative icon beside text, or in a button that has a name. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
