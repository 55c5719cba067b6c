import { useId } from "preact/hooks";
import { t } from "../i18n/language.ts";
import "./field.css";

interface FieldProps {
  readonly label: string;
  readonly hint: string;
  /** Problem of the value. */
  readonly wrong: string | undefined;
  readonly value: string;
  /** Suggested values. */
  readonly options?: readonly string[];
  /** Whether the field has several lines. */
  readonly lines?: boolean;
  /** Whether the typed text is hidden. */
  readonly secret?: boolean;
  readonly onChange: (text: string) => void;
}

/** Text field with a label above it, and a hint and the problem below. */
export function Field(props: FieldProps) {
  const { label, hint, wrong, value, options, lines, secret, onChange } = props;
  const id = useId();
  const common = {
    id,
    class: "input mono short",
    autocomplete: "off",
    spellcheck: false,
    value,
    "aria-describedby": `${id}-hint ${id}-wrong`,
    "aria-invalid": wrong !== undefined,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  } as const;
  return (
    <div>
      <label class="label" for={id}>
        {label}
      </label>
      {lines ? (
        <textarea {...common} rows={2} />
      ) : secret ? (
        <input {...common} type="password" />
      ) : (
        <input {...common} list={`${id}-options`} />
      )}
      {options && (
        <datalist id={`${id}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      <p class="quiet small" id={`${id}-hint`}>
        {hint}
      </p>
      <p class="wrong" id={`${id}-wrong`} role="alert">
        {wrong}
      </p>
    </div>
  );
}

/** Checkbox with its label. */
export function Check(props: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <span>{props.label}</span>
    </label>
  );
}

/** Maximum length of a reason in the contract, in characters. */
const LONGEST = 500;

/** Field for the reason of a change, for the history. */
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
