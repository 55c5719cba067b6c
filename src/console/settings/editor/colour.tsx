import { t } from "../../i18n/language.ts";
import { common, type EditorProps } from "./props.ts";

/** A colour, by a picker or as text: what the picker cannot say can still be typed. */
export function Colour(props: EditorProps) {
  const { value, fixed, onChange } = props;
  return (
    <span class="colour">
      <input
        type="color"
        class="input"
        aria-label={t("colour.pick")}
        value={/^#[\da-f]{6}$/i.test(value) ? value : "#000000"}
        disabled={fixed}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <input
        {...common(props)}
        class="input mono"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </span>
  );
}
