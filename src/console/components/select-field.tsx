import { useId } from "preact/hooks";
import "./field.css";

/** Choice of one value, with a label above it. */
export function SelectField(props: {
  readonly label: string;
  readonly isLabelHidden?: boolean;
  /** Values with their texts. */
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const id = useId();
  const { label, isLabelHidden, options, value, onChange } = props;
  return (
    <div>
      <label class={isLabelHidden ? "unseen" : "label"} for={id}>
        {label}
      </label>
      <select
        id={id}
        class="input"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
