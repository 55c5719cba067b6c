import { t } from "../i18n/language.ts";
import "./field.css";

/** The contract's bound, in characters. */
const LONGEST = 500;

/** Why one does something, for the history. */
export function ReasonField(props: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return (
    <label class="reason">
      <span class="label">
        {t("reason.label")} <span class="quiet small">{t("reason.optional")}</span>
      </span>
      <input
        class="input"
        value={props.value}
        maxLength={LONGEST}
        placeholder={t("reason.hint")}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
    </label>
  );
}
