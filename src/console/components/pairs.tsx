import { useId } from "preact/hooks";
import { t } from "../i18n/language.ts";
import { Button } from "./button.tsx";
import type { PairList } from "./pair-list.ts";
import "./field.css";

/** Rows of names and values, which can be added and removed. */
export function Pairs(props: {
  readonly label: string;
  readonly hint: string;
  readonly value: PairList;
  /** Suggested names. */
  readonly names: readonly string[];
  readonly wrong?: string | undefined;
  readonly onChange: (value: PairList) => void;
}) {
  const id = useId();
  const { label, hint, value, names, wrong, onChange } = props;
  const set = (at: number, pair: PairList[number]): void =>
    onChange(value.map((each, index) => (index === at ? pair : each)));
  return (
    <fieldset class="pairs">
      <legend class="label">{label}</legend>
      <p class="quiet small">{hint}</p>
      <datalist id={`${id}-names`}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {value.map(([name, text], at) => (
        <div class="pair" key={at}>
          <input
            class="input mono"
            list={`${id}-names`}
            aria-label={t("pairs.name", { number: at + 1 })}
            placeholder={t("pairs.nameOnly")}
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={(event) => set(at, [event.currentTarget.value, text])}
          />
          <textarea
            class="input mono"
            rows={1}
            aria-label={t("pairs.value", { number: at + 1 })}
            placeholder={t("pairs.valueOnly")}
            spellcheck={false}
            value={text}
            onInput={(event) => set(at, [name, event.currentTarget.value])}
          />
          <Button
            kind="bare"
            icon="close"
            aria-label={t("pairs.remove", { number: at + 1 })}
            onClick={() => onChange(value.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      <p class="wrong" role="alert">
        {wrong}
      </p>
      <Button icon="add" onClick={() => onChange([...value, ["", ""]])}>
        {t("pairs.add")}
      </Button>
    </fieldset>
  );
}
