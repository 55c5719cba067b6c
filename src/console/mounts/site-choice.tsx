import { mounts } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Check } from "../components/field.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import type { ChosenSites } from "./input.ts";

/** Names of all sites; without the right to list them, of the sites of the known mounts. */
export async function siteNames(signal: AbortSignal): Promise<readonly string[]> {
  if (!may("sites:read")) {
    const known = [...(mounts.peek()?.values() ?? [])];
    return [...new Set(known.flatMap(({ status }) => status.map(({ site }) => site)))].sort();
  }
  const { siteService } = await import("../api/sites.ts");
  const { sites } = await siteService.listSites({}, { signal });
  return sites.map(({ name }) => name);
}

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
  const { data = [] } = useCall(siteNames, []);
  const names = [...new Set([...data, ...value.names])];
  return (
    <fieldset>
      <legend class="label">{t("mount.sites")}</legend>
      <Check
        label={props.all}
        checked={value.all}
        onChange={(all) => onChange({ all, names: new Set() })}
      />
      {!value.all &&
        names.map((name) => (
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
      {props.hint !== undefined && <p class="quiet small">{props.hint}</p>}
      <p class="wrong" role="alert">
        {props.wrong}
      </p>
    </fieldset>
  );
}
