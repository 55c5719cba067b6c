import { useSignal } from "@preact/signals";
import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Pairs } from "../components/pairs.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { type Overrides, type OverrideTexts, OWN_ITEMS } from "./input.ts";
import { siteNames } from "./site-choice.tsx";

/** Own values of a mount on single sites: path and items. */
export function OverrideFields(props: {
  readonly value: Overrides;
  readonly info: DriverInfo | undefined;
  /** Problems by field, such as `overrides.home.config.root_folder_path`. */
  readonly wrong: ReadonlyMap<string, string>;
  readonly onChange: (value: Overrides) => void;
}) {
  const { value, info, wrong, onChange } = props;
  const { data: names = [] } = useCall(siteNames, []);
  const chosen = useSignal("");
  const items = [...(info?.additional ?? []), ...(info?.common ?? [])];
  const set = (site: string, texts: OverrideTexts | undefined): void => {
    const next = new Map(value);
    if (texts === undefined) next.delete(site);
    else next.set(site, texts);
    onChange(next);
  };
  const free = names.filter((name) => !value.has(name));
  return (
    <section class="sheet" aria-label={t("mount.overrides")}>
      <h2 class="sheet-title">{t("mount.overrides")}</h2>
      <div class="block block-form">
        <p class="quiet">{t("mount.overridesAbout")}</p>
        {[...value].map(([site, texts]) => {
          const problems = [...wrong].filter(([field]) => field.startsWith(`overrides.${site}`));
          return (
            <fieldset key={site} class="block-form">
              <legend class="label">{site}</legend>
              <Field
                label={t("mount.ownPath", { site })}
                hint={t("mount.ownPathHint")}
                wrong={undefined}
                value={texts.mountPath}
                onChange={(mountPath) => set(site, { ...texts, mountPath })}
              />
              <Pairs
                label={t("mount.ownValues", { site })}
                hint={t("mount.ownValuesHint")}
                value={texts.items}
                names={items.map(({ name }) => name).filter((name) => !OWN_ITEMS.has(name))}
                wrong={problems.map(([, problem]) => problem).join(" ") || undefined}
                onChange={(pairs) => set(site, { ...texts, items: pairs })}
              />
              <div class="ways">
                <Button onClick={() => set(site, undefined)}>
                  {t("mount.removeOwn", { site })}
                </Button>
              </div>
            </fieldset>
          );
        })}
        {free.length > 0 && (
          <div class="ways">
            <select
              class="input"
              aria-label={t("mount.ownSite")}
              value={chosen.value}
              onChange={(event) => {
                chosen.value = event.currentTarget.value;
              }}
            >
              <option value="">{t("drivers.choose")}</option>
              {free.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
            <Button
              icon="add"
              disabled={!free.includes(chosen.value)}
              onClick={() => {
                set(chosen.value, { mountPath: "", items: [] });
                chosen.value = "";
              }}
            >
              {t("mount.addOwn")}
            </Button>
          </div>
        )}
      </div>
    </section>
  );
}
