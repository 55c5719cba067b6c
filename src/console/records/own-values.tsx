import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Button } from "../components/button.tsx";
import { t } from "../i18n/language.ts";
import { SiteSelect, useSiteNames } from "./site-select.tsx";

/** Own values of a record on single sites, with a choice of further sites. */
export function OwnValues<T>(props: {
  /** Values by site. */
  readonly value: ReadonlyMap<string, T>;
  /** Values of a site that is added. */
  readonly empty: T;
  readonly about: string;
  /** Fields of the values of one site. */
  readonly fields: (site: string, values: T, set: (values: T) => void) => ComponentChildren;
  readonly onChange: (value: ReadonlyMap<string, T>) => void;
}) {
  const { value, onChange } = props;
  const names = useSiteNames();
  const chosen = useSignal("");
  const set = (site: string, values: T): void => onChange(new Map(value).set(site, values));
  const free = names.filter((name) => !value.has(name));
  return (
    <section class="sheet" aria-label={t("record.overrides")}>
      <h2 class="sheet-title">{t("record.overrides")}</h2>
      <div class="block block-form">
        <p class="quiet">{props.about}</p>
        {[...value].map(([site, values]) => (
          <fieldset key={site} class="block-form">
            <legend class="label">{site}</legend>
            {props.fields(site, values, (changed) => set(site, changed))}
            <div class="ways">
              <Button
                onClick={() => onChange(new Map([...value].filter(([name]) => name !== site)))}
              >
                {t("record.removeOwn", { site })}
              </Button>
            </div>
          </fieldset>
        ))}
        {free.length > 0 && (
          <div class="ways">
            <SiteSelect
              label={t("record.ownSite")}
              isLabelHidden
              names={free}
              value={free.includes(chosen.value) ? chosen.value : ""}
              onChange={(name) => {
                chosen.value = name;
              }}
            />
            <Button
              icon="add"
              disabled={!free.includes(chosen.value)}
              onClick={() => set(chosen.value, props.empty)}
            >
              {t("record.addOwn")}
            </Button>
          </div>
        )}
      </div>
    </section>
  );
}
