import { t } from "../../i18n/language.ts";
import type { EditorProps } from "./props.ts";

/** Selection of a value. An unknown value is shown unchanged. */
export function Choice({ setting, id, value, describedBy, invalid, fixed, onChange }: EditorProps) {
  const options = setting.options.split(",");
  const all = options.includes(value) ? options : [value, ...options];
  return (
    <select
      id={id}
      class="input"
      value={value}
      disabled={fixed}
      aria-describedby={describedBy}
      aria-invalid={invalid}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {all.map((option) => (
        <option key={option} value={option}>
          {setting.optionLabels[options.indexOf(option)] || option || t("value.empty")}
        </option>
      ))}
    </select>
  );
}
