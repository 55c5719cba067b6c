import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { Field } from "../components/field.tsx";
import { Pairs } from "../components/pairs.tsx";
import { t } from "../i18n/language.ts";
import { OwnValues } from "../records/own-values.tsx";
import { type Overrides, type OverrideTexts, OWN_ITEMS } from "./input.ts";

const EMPTY: OverrideTexts = { mountPath: "", items: [] };

/** Own values of a mount on single sites: path and items. */
export function OverrideFields(props: {
  readonly value: Overrides;
  readonly info: DriverInfo | undefined;
  /** Problems by field, such as `overrides.home.config.root_folder_path`. */
  readonly wrong: ReadonlyMap<string, string>;
  readonly onChange: (value: Overrides) => void;
}) {
  const { value, info, wrong, onChange } = props;
  const items = [...(info?.additional ?? []), ...(info?.common ?? [])];
  const names = items.map(({ name }) => name).filter((name) => !OWN_ITEMS.has(name));
  return (
    <OwnValues
      value={value}
      empty={EMPTY}
      about={t("record.overridesAbout")}
      onChange={onChange}
      fields={(site, texts, set) => {
        const problems = [...wrong].filter(([field]) => field.startsWith(`overrides.${site}`));
        return (
          <>
            <Field
              label={t("mount.ownPath", { site })}
              hint={t("mount.ownPathHint")}
              wrong={undefined}
              value={texts.mountPath}
              onChange={(mountPath) => set({ ...texts, mountPath })}
            />
            <Pairs
              label={t("record.ownValues", { site })}
              hint={t("mount.ownValuesHint")}
              value={texts.items}
              names={names}
              wrong={problems.map(([, problem]) => problem).join(" ") || undefined}
              onChange={(pairs) => set({ ...texts, items: pairs })}
            />
          </>
        );
      }}
    />
  );
}
