import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../i18n/language.ts";
import { place, refine } from "../shell/location.ts";
import { Button } from "./button.tsx";
import "./field.css";
import "./filters.css";

/** Filter of a timeline. */
export interface FilterField {
  /** Name of the parameter in the address. */
  readonly name: string;
  readonly label: string;
  /** Suggested values. */
  readonly options?: readonly string[];
  /** All choices; the first one means any. */
  readonly choices?: readonly [any: string, ...choices: string[]];
}

/** Filters of a list, which are in the address; of timelines also the first and the last day. */
export function Filters(props: {
  readonly fields: readonly FilterField[];
  readonly hasDays?: boolean;
  /** Members of the address without a field, which are also cleared. */
  readonly also?: readonly string[];
}) {
  const { query } = place.value;
  const { hasDays = true } = props;
  const names = [...props.fields.map(({ name }) => name), "since", "until", ...(props.also ?? [])];
  const common = (name: string) => ({
    class: "input",
    value: query.get(name) ?? "",
    onChange: (event: { currentTarget: { value: string } }) =>
      refine({ [name]: event.currentTarget.value }),
  });
  return (
    <search class="timeline-filters">
      {props.fields.map(({ name, label, options, choices }) =>
        choices ? (
          <select key={name} aria-label={label} {...common(name)}>
            {choices.map((choice, at) => (
              <option key={choice} value={at === 0 ? "" : choice}>
                {choice}
              </option>
            ))}
          </select>
        ) : (
          <Typed
            key={name}
            name={name}
            label={label}
            value={query.get(name) ?? ""}
            options={options}
          />
        ),
      )}
      {hasDays && (
        <span class="days">
          {(["since", "until"] as const).map((name) => (
            <label key={name}>
              <span class="quiet small">
                {t(name === "since" ? "history.since" : "history.until")}
              </span>
              <input {...common(name)} type="date" />
            </label>
          ))}
        </span>
      )}
      {names.some((name) => query.has(name)) && (
        <Button
          kind="bare"
          onClick={() => refine(Object.fromEntries(names.map((name) => [name, undefined])))}
        >
          {t("history.clear")}
        </Button>
      )}
    </search>
  );
}

/** Text filter that applies on Enter or when the field is left. */
function Typed(props: {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly string[] | undefined;
}) {
  const { name, label, value, options } = props;
  // The draft stays when the page is updated.
  const draft = useSignal(value);
  useEffect(() => {
    draft.value = value;
  }, [draft, value]);
  return (
    <span class="typed">
      <input
        class="input"
        type="search"
        aria-label={label}
        placeholder={label}
        spellcheck={false}
        list={options && `filter-${name}`}
        value={draft.value}
        onInput={(event) => (draft.value = event.currentTarget.value)}
        onChange={(event) => refine({ [name]: event.currentTarget.value })}
      />
      {options && (
        <datalist id={`filter-${name}`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </span>
  );
}

/** Day of a parameter in the address, at its beginning; undefined: invalid. */
export function dayOf(text: string | null): Date | undefined {
  const date = new Date(`${text}T00:00`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
