import type { PairList } from "../components/pair-list.ts";
import { Pairs } from "../components/pairs.tsx";
import { t } from "../i18n/language.ts";
import { OwnValues } from "../records/own-values.tsx";
import { MEMBER_NAMES, type RuleDraft } from "./input.ts";

const EMPTY: PairList = [];

/** Own values of a rule on single sites. */
export function RuleOverrides(props: {
  readonly draft: RuleDraft;
  readonly wrong: ReadonlyMap<string, string>;
  readonly set: (change: Partial<RuleDraft>) => void;
}) {
  const { draft, wrong, set } = props;
  return (
    <OwnValues
      value={draft.overrides}
      empty={EMPTY}
      about={t("record.overridesAbout")}
      onChange={(overrides) => set({ overrides })}
      fields={(site, pairs, setPairs) => (
        <Pairs
          label={t("record.ownValues", { site })}
          hint={t("rule.ownValuesHint")}
          value={pairs}
          names={MEMBER_NAMES}
          wrong={
            [...wrong].find(([field]) => field.startsWith(`overrides.${site}`))?.[1] ??
            unknownIn(pairs)
          }
          onChange={setPairs}
        />
      )}
    />
  );
}

/** Names that are no members of a rule: their values would not be saved. */
function unknownIn(pairs: PairList): string | undefined {
  const unknown = pairs.flatMap(([name]) =>
    name.trim() === "" || MEMBER_NAMES.includes(name.trim()) ? [] : [name],
  );
  return unknown.length === 0 ? undefined : t("rule.unknown", { names: unknown.join(", ") });
}
