import type { ConfigItem } from "../../../gen/mooring/v1/driver_pb.js";
import { Icon } from "../components/button.tsx";
import { Words } from "../components/text.tsx";
import { number, t } from "../i18n/language.ts";
import "../components/field.css";

interface ItemFieldProps {
  readonly item: ConfigItem;
  /** Undefined: not given, the default applies. */
  readonly value: string | undefined;
  /** Problem reported by the service, after the field was visited. */
  readonly wrong: string | undefined;
  /** Whether the item is required and missing, even if that is not shown yet. */
  readonly missing: boolean;
  readonly onChange: (value: string) => void;
}

/** Input of a driver's form. */
export function ItemField({ item, value, wrong, missing, onChange }: ItemFieldProps) {
  const { name, label, required } = item;
  const about = item.description || item.help;
  const id = `item-${name}`;
  return (
    <div class="item">
      <label class="label" for={id}>
        {label || name} <code class="quiet">{name}</code>
        {required && item.default === "" && item.type !== "bool" && (
          <span class={missing ? "badge edited" : "badge"}>
            {item.requiredUnless === ""
              ? t("drivers.required")
              : t("drivers.requiredUnless", { items: item.requiredUnless.replaceAll(",", ", ") })}
          </span>
        )}
      </label>
      <Input id={id} item={item} value={value} wrong={wrong !== undefined} onChange={onChange} />
      {about !== "" && (
        <p class="quiet" id={`${id}-help`}>
          <Words text={about} />
        </p>
      )}
      <p class="wrong" id={`${id}-wrong`} role="status">
        {wrong !== undefined && <Icon name="warning" />}
        {wrong}
      </p>
    </div>
  );
}

function Input(props: {
  readonly id: string;
  readonly item: ConfigItem;
  readonly value: string | undefined;
  readonly wrong: boolean;
  readonly onChange: (value: string) => void;
}) {
  const { id, item, value, wrong, onChange } = props;
  const { type, secret, min, max, options, unit } = item;
  const common = {
    id,
    "aria-describedby": `${id}-help ${id}-wrong`,
    "aria-invalid": wrong,
    placeholder: item.default,
    spellcheck: false,
  } as const;
  const now = value ?? item.default;
  const onInput = (event: { currentTarget: { value: string } }): void =>
    onChange(event.currentTarget.value);
  if (type === "bool")
    return (
      <span class="switch">
        <input
          id={id}
          type="checkbox"
          role="switch"
          aria-checked={now === "true"}
          aria-describedby={`${id}-help ${id}-wrong`}
          checked={now === "true"}
          onChange={(event) => onChange(String(event.currentTarget.checked))}
        />
        <span aria-hidden="true">{t(now === "true" ? "editor.on" : "editor.off")}</span>
      </span>
    );
  if (type === "select")
    return (
      <select
        id={id}
        class="input"
        aria-describedby={`${id}-help ${id}-wrong`}
        aria-invalid={wrong}
        value={now}
        onChange={onInput}
      >
        {(options.split(",").includes(now) ? [] : [now])
          .concat(options.split(","))
          .map((option) => (
            <option key={option} value={option}>
              {item.optionLabels[options.split(",").indexOf(option)] ||
                option ||
                t("drivers.choose")}
            </option>
          ))}
      </select>
    );
  if (type === "text" && !secret)
    return (
      <textarea {...common} class="input mono" rows={2} value={value ?? ""} onInput={onInput} />
    );
  if (type === "number" || type === "float")
    return (
      <span class="number">
        <input
          {...common}
          class="input mono"
          inputMode="decimal"
          autocomplete="off"
          value={value ?? ""}
          onInput={onInput}
        />
        {unit !== "" && <span class="quiet">{unit}</span>}
        <span class="quiet small">{bounds(min, max)}</span>
      </span>
    );
  if (secret)
    return (
      <input
        {...common}
        class="input mono"
        type="password"
        autocomplete="new-password"
        value={value ?? ""}
        onInput={onInput}
      />
    );
  return (
    <input
      {...common}
      class="input mono"
      autocomplete="off"
      value={value ?? ""}
      onInput={onInput}
    />
  );
}

function bounds(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined)
    return t("number.between", { min: number(min), max: number(max) });
  if (min !== undefined) return t("number.least", { min: number(min) });
  return max === undefined ? "" : t("number.most", { max: number(max) });
}
