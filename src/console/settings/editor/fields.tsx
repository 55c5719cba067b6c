import type { Setting } from "../../../../gen/mooring/v1/setting_pb.js";
import { number, t } from "../../i18n/language.ts";

/**
 * Properties of every editor. It shows `value` and reports each change; it has no state of its own.
 */
export interface EditorProps {
  readonly setting: Setting;
  readonly value: string;
  /** Id of the labelled element. */
  readonly id: string;
  /** Ids of the describing elements: help, violation. */
  readonly describedBy: string;
  readonly invalid: boolean;
  /**
   * Whether the value can only be read and copied: managed by a file, read-only, or not permitted
   * for this token.
   */
  readonly fixed: boolean;
  /** Whether a secret may be shown. */
  readonly revealable: boolean;
  readonly onChange: (value: string) => void;
}

/** Common attributes of editors. */
export function common({ id, describedBy, invalid, fixed }: EditorProps) {
  return {
    id,
    "aria-describedby": describedBy,
    "aria-invalid": invalid,
    readOnly: fixed,
    autocomplete: "off",
    spellcheck: false,
  } as const;
}

/** Editor for one line of text. */
export function Line(props: EditorProps) {
  return (
    <input
      {...common(props)}
      class="input mono"
      value={props.value}
      onInput={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}

/** Editor for several lines, which grows with its content. */
export function Text(props: EditorProps) {
  return (
    <textarea
      {...common(props)}
      class="input mono"
      rows={2}
      value={props.value}
      onInput={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}

/** Editor for a number, with its unit and bounds. */
export function NumberField(props: EditorProps) {
  const { setting, value, onChange } = props;
  const { min, max, unit } = setting;
  const step = (event: KeyboardEvent): void => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by === undefined || props.fixed || !/^-?\d+$/.test(value.trim())) return;
    event.preventDefault();
    const next = Number(value) + by * (event.shiftKey ? 10 : 1);
    onChange(String(Math.max(min ?? -Infinity, Math.min(max ?? Infinity, next))));
  };
  return (
    <span class="number">
      <input
        {...common(props)}
        class="input mono"
        inputMode="decimal"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={step}
      />
      {unit !== "" && <span class="quiet">{unit}</span>}
      {bounds(min, max) !== "" && <span class="quiet small">{bounds(min, max)}</span>}
    </span>
  );
}

function bounds(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined)
    return t("number.between", { min: number(min), max: number(max) });
  if (min !== undefined) return t("number.least", { min: number(min) });
  return max === undefined ? "" : t("number.most", { max: number(max) });
}

/** Switch with on and off. */
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

/**
 * Editor for a colour, by a picker or as text, because the picker does not support all notations.
 */
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
