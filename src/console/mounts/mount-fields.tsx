import { useSignal } from "@preact/signals";
import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { type Mount, MountContent } from "../../../gen/mooring/v1/mount_pb.js";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Check, Field } from "../components/field.tsx";
import { lazy } from "../components/lazy.tsx";
import { ItemSheet } from "../drivers/item-sheet.tsx";
import { isShown } from "../drivers/shown.ts";
import { t } from "../i18n/language.ts";
import { MASK } from "../records/secret-pairs.ts";
import { SiteChoice } from "../records/site-choice.tsx";
import { type Draft, OWN_ITEMS } from "./input.ts";

const OverrideFields = lazy(() =>
  import("./override-fields.tsx").then((module) => module.OverrideFields),
);

interface MountFieldsProps {
  readonly draft: Draft;
  readonly info: DriverInfo | undefined;
  /** Problems by item. */
  readonly wrong: ReadonlyMap<string, string>;
  readonly set: (change: Partial<Draft>) => void;
}

/** Fields of a mount: the mount itself, the items of its driver, and own values of sites. */
export function MountFields(fields: MountFieldsProps) {
  const { draft, info, wrong, set } = fields;
  return (
    <>
      <MountItself draft={draft} wrong={wrong} set={set} />
      {info && (
        <>
          <Items title={t("drivers.own")} list={info.additional} {...fields} />
          <Items title={t("drivers.common")} list={info.common} {...fields} />
          {may("mounts:write") && <OwnValuesOfSites {...fields} />}
        </>
      )}
    </>
  );
}

/** Name of a new mount, its sites and its management by Mooring. */
function MountItself({ draft, wrong, set }: Omit<MountFieldsProps, "info">) {
  return (
    <section class="sheet block block-form" aria-label={t("mount.itself")}>
      {draft.base === undefined && (
        <Field
          label={t("mount.name")}
          hint={t("mount.nameHint")}
          wrong={wrong.get("name")}
          value={draft.name}
          onChange={(name) => set({ name })}
        />
      )}
      <SiteChoice
        value={draft.sites}
        all={t("mount.everySite")}
        hint={t("mount.sitesHint")}
        wrong={wrong.get("sites")}
        onChange={(sites) => set({ sites })}
      />
      <Check
        label={t("mount.isDisabled")}
        checked={draft.disabled}
        onChange={(disabled) => set({ disabled })}
      />
      <Check
        label={t("mount.overwrites")}
        checked={draft.content === MountContent.OVERWRITE}
        onChange={(overwrites) =>
          set({ content: overwrites ? MountContent.OVERWRITE : MountContent.ADOPT })
        }
      />
    </section>
  );
}

/** Items of the driver, or of every mount, that the current values show. */
function Items(
  props: MountFieldsProps & { readonly title: string; readonly list: readonly ConfigItem[] },
) {
  const { title, list, info, draft, wrong, set } = props;
  const items = new Map(
    [...(info?.common ?? []), ...(info?.additional ?? [])].map((item) => [item.name, item]),
  );
  const shown = list.filter(
    (item) =>
      isShown(item, items, draft.values) &&
      (item.name === "mount_path" || !OWN_ITEMS.has(item.name)),
  );
  return (
    <ItemSheet
      title={title}
      items={shown.map((item) => (isKept(draft.base, item) ? { ...item, default: MASK } : item))}
      values={draft.values}
      wrong={(name) => wrong.get(name)}
      hasProblem={(name) => wrong.has(name)}
      onChange={(name, value) =>
        set({
          values: { ...draft.values, [name]: value },
          touched: new Set(draft.touched).add(name),
        })
      }
    />
  );
}

/** Reports whether the mount has a secret for an item, which stays unless a new one is entered. */
function isKept(mount: Mount | undefined, { name }: ConfigItem): boolean {
  return mount?.config?.[name] === MASK;
}

/** Own values of sites, behind a button while there are none. */
function OwnValuesOfSites({ draft, info, wrong, set }: MountFieldsProps) {
  const isAsked = useSignal(false);
  if (isAsked.value || draft.overrides.size > 0)
    return (
      <OverrideFields
        value={draft.overrides}
        info={info}
        wrong={wrong}
        onChange={(overrides) => set({ overrides })}
      />
    );
  return (
    <div class="ways">
      <Button
        onClick={() => {
          isAsked.value = true;
        }}
      >
        {t("record.overrides")}
      </Button>
    </div>
  );
}
