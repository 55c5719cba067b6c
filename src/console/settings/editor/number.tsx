import { number, t } from "../../i18n/language.ts";
import { common, type EditorProps } from "./props.ts";

/** A number with what it counts, and the bounds it has. */
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
