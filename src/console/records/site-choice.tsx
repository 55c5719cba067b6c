import { Check } from "../components/field.tsx";
import { t } from "../i18n/language.ts";
import type { ChosenSites } from "./chosen-sites.ts";
import { useSiteNames } from "./site-select.tsx";

/** Checkboxes for sites. */
export function SiteChoice(props: {
  readonly value: ChosenSites;
  /** Label of the choice of all. */
  readonly all: string;
  readonly hint?: string;
  readonly wrong?: string | undefined;
  readonly onChange: (value: ChosenSites) => void;
}) {
  const { value, onChange } = props;
  const names = [...new Set([...useSiteNames(), ...value.names])];
  return (
    <fieldset>
      <legend class="label">{t("mount.sites")}</legend>
      <Check
        label={props.all}
        checked={value.all}
        onChange={(all) => onChange({ all, names: new Set() })}
      />
      {!value.all && (
        <div class="site-checks">
          {names.map((name) => (
            <Check
              key={name}
              label={name}
              checked={value.names.has(name)}
              onChange={(checked) => {
                const next = new Set(value.names);
                if (checked) next.add(name);
                else next.delete(name);
                onChange({ all: false, names: next });
              }}
            />
          ))}
        </div>
      )}
      {props.hint !== undefined && <p class="quiet small">{props.hint}</p>}
      <p class="wrong" role="alert">
        {props.wrong}
      </p>
    </fieldset>
  );
}
