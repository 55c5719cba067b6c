import { t } from "../../i18n/language.ts";
import type { EditorProps } from "./props.ts";

/** On or off. */
export function Switch({ id, value, describedBy, invalid, fixed, onChange }: EditorProps) {
  const on = value === "true";
  return (
    <span class="switch">
      <input
        id={id}
        type="checkbox"
        role="switch"
        aria-checked={on}
        checked={on}
        disabled={fixed}
        aria-describedby={describedBy}
        aria-invalid={invalid}
        onChange={(event) => onChange(String(event.currentTarget.checked))}
      />
      <span aria-hidden="true">{t(on ? "editor.on" : "editor.off")}</span>
    </span>
  );
}
