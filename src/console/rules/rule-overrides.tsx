import { useSignal } from "@preact/signals";
import { Button } from "../components/button.tsx";
import type { PairList } from "../components/pair-list.ts";
import { Pairs } from "../components/pairs.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { siteNames } from "../mounts/site-choice.tsx";
import { MEMBER_NAMES, type RuleDraft } from "./input.ts";

/** Own values of a rule on single sites. */
export function RuleOverrides(props: {
  readonly draft: RuleDraft;
  readonly wrong: ReadonlyMap<string, string>;
  readonly onChange: (change: Partial<RuleDraft>) => void;
}) {
  const { draft, wrong, onChange } = props;
  const { overrides } = draft;
  const { data: names = [] } = useCall(siteNames, []);
  const chosen = useSignal("");
  const set = (site: string, pairs: PairList | undefined): void => {
    const next = new Map(overrides);
    if (pairs === undefined) next.delete(site);
    else next.set(site, pairs);
    onChange({ overrides: next });
  };
  const free = names.filter((name) => !overrides.has(name));
  return (
    <section class="sheet" aria-label={t("mount.overrides")}>
      <h2 class="sheet-title">{t("mount.overrides")}</h2>
      <div class="block block-form">
        <p class="quiet">{t("rule.overridesAbout")}</p>
        {[...overrides].map(([site, pairs]) => (
          <div key={site} class="block-form">
            <Pairs
              label={t("mount.ownValues", { site })}
              hint={t("rule.ownValuesHint")}
              value={pairs}
              names={MEMBER_NAMES}
              wrong={
                [...wrong].find(([field]) => field.startsWith(`overrides.${site}`))?.[1] ??
                unknownIn(pairs)
              }
              onChange={(next) => set(site, next)}
            />
            <div class="ways">
              <Button onClick={() => set(site, undefined)}>{t("mount.removeOwn", { site })}</Button>
            </div>
          </div>
        ))}
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
                set(chosen.value, []);
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

/** Names that are no members of a rule: their values would not be saved. */
function unknownIn(pairs: PairList): string | undefined {
  const unknown = pairs.flatMap(([name]) =>
    name.trim() === "" || MEMBER_NAMES.includes(name.trim()) ? [] : [name],
  );
  return unknown.length === 0 ? undefined : t("rule.unknown", { names: unknown.join(", ") });
}
