import { useSignal } from "@preact/signals";
import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import type { Mount, MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { type Failure, failureOf } from "../api/failure.ts";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Check, Field } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { ItemField } from "../drivers/item-field.tsx";
import { isShown, type Values } from "../drivers/shown.ts";
import { t } from "../i18n/language.ts";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { chosenOf, formValues, inputOf, itemOf, MASK, OWN_ITEMS } from "./input.ts";
import { OnItsSites } from "./on-its-sites.tsx";
import { ReplaceCredential } from "./replace.tsx";
import { Effects, SaveOutcome } from "./results.tsx";
import { SiteChoice } from "./site-choice.tsx";

interface MountFormProps {
  /** Undefined: a new mount. */
  readonly mount?: Mount;
  readonly driver: string;
  /** Undefined: the driver is no longer in the catalogue. */
  readonly info: DriverInfo | undefined;
}

/** Mount with its status on its sites, and the form of its driver. */
export function MountForm({ mount, driver, info }: MountFormProps) {
  const name = useSignal(mount?.name ?? "");
  const sites = useSignal(chosenOf(mount?.sites));
  const disabled = useSignal(mount?.disabled ?? false);
  const values = useSignal<Values>(formValues(mount));
  const touched = useSignal<ReadonlySet<string>>(new Set());
  const failure = useSignal<Failure | undefined>(undefined);
  const preview = useSignal<readonly MountResult[] | undefined>(undefined);
  const allowShared = useSignal(false);
  const busy = useSignal(false);
  const asked = useSignal(false);
  const effects = useSignal<readonly Effect[]>([]);
  const wrong = new Map(
    failure.value?.violations.map(({ field, description }) => [itemOf(field), description]),
  );
  const mayWrite = may("mounts:write") && info !== undefined;
  /** Saves, or shows a preview: also before a save with an effect on a running server. */
  const save = async (dryRun: boolean, isConfirmed = false): Promise<void> => {
    if (info === undefined) return;
    busy.value = true;
    const options = { sites: sites.value, disabled: disabled.value, mount };
    const input = inputOf(name.value.trim(), values.value, touched.value, info, options);
    try {
      const request = { mounts: [input], allowSharedCredential: allowShared.value };
      const planned = await mountService.saveMounts({ ...request, dryRun: true });
      failure.value = undefined;
      preview.value = planned.results;
      if (dryRun) return;
      effects.value = planned.results.flatMap((result) => result.effects);
      if (effects.value.length > 0 && !isConfirmed) return;
      const reply = await mountService.saveMounts(request);
      preview.value = reply.results;
      touched.value = new Set();
      if (mount === undefined) go(href("mount", { name: input.name }));
    } catch (thrown) {
      failure.value = failureOf(thrown);
      preview.value = undefined;
    } finally {
      busy.value = false;
    }
  };
  const part = (title: string, list: readonly ConfigItem[]) => {
    const items = new Map(
      [...(info?.common ?? []), ...(info?.additional ?? [])].map((item) => [item.name, item]),
    );
    const shown = list.filter(
      (item) =>
        isShown(item, items, values.value) &&
        (item.name === "mount_path" || !OWN_ITEMS.has(item.name)),
    );
    if (shown.length === 0) return null;
    return (
      <section class="sheet" aria-label={title}>
        <h2 class="sheet-title">{title}</h2>
        {shown.map((item) => (
          <ItemField
            key={item.name}
            item={isKept(mount, item) ? { ...item, default: MASK } : item}
            value={values.value[item.name]}
            wrong={wrong.get(item.name)}
            missing={wrong.has(item.name)}
            onChange={(value) => {
              values.value = { ...values.peek(), [item.name]: value };
              touched.value = new Set(touched.peek()).add(item.name);
            }}
          />
        ))}
      </section>
    );
  };
  return (
    <>
      <PageHead title={mount?.name ?? t("mounts.new")}>
        <div class="ways">
          <a class="button" href={href("mounts")}>
            {t("page.mounts")}
          </a>
          {mount !== undefined && <ReplaceCredential mount={mount} info={info} />}
          {mount !== undefined && may("mounts:write") && (
            <Button
              onClick={() => {
                asked.value = true;
              }}
            >
              {t("mount.delete")}
            </Button>
          )}
        </div>
      </PageHead>
      <p class="behaviour quiet">{info?.label || driver}</p>
      {mount !== undefined && mount.status.length > 0 && <OnItsSites mount={mount} />}
      {mount !== undefined && mount.missing.length > 0 && (
        <Notice kind="wrong">
          {t("mount.giveMissing", {
            items: mount.missing.map((field) => field.replace(/^config\./, "")).join(", "),
          })}
        </Notice>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value) void save(false);
        }}
      >
        <section class="sheet block block-form" aria-label={t("mount.itself")}>
          {mount === undefined && (
            <Field
              label={t("mount.name")}
              hint={t("mount.nameHint")}
              wrong={wrong.get("name")}
              value={name.value}
              onChange={(text) => {
                name.value = text;
              }}
            />
          )}
          <SiteChoice
            value={sites.value}
            all={t("mount.everySite")}
            hint={t("mount.sitesHint")}
            wrong={wrong.get("sites")}
            onChange={(chosen) => {
              sites.value = chosen;
            }}
          />
          <Check
            label={t("mount.isDisabled")}
            checked={disabled.value}
            onChange={(checked) => {
              disabled.value = checked;
            }}
          />
        </section>
        {info && part(t("drivers.own"), info.additional)}
        {info && part(t("drivers.common"), info.common)}
        <SaveOutcome failure={failure.value} results={preview.value} allowShared={allowShared} />
        {mayWrite && (
          <div class="ways">
            <Button disabled={busy.value} onClick={() => void save(true)}>
              {t("mount.preview")}
            </Button>
            <Button kind="main" type="submit" disabled={busy.value}>
              {t("mount.save")}
            </Button>
          </div>
        )}
      </form>
      {effects.value.length > 0 && !busy.value && (
        <Confirm
          title={t("effect.title")}
          action={t("effect.save")}
          onAction={() => save(false, true)}
          onClose={() => {
            effects.value = [];
          }}
        >
          <Effects effects={effects.value} />
        </Confirm>
      )}
      {asked.value && mount !== undefined && (
        <Confirm
          title={t("mount.delete")}
          action={t("mount.deleteNow")}
          onAction={() =>
            mountService.deleteMounts({ names: [mount.name] }).then(() => go(href("mounts")))
          }
          onClose={() => {
            asked.value = false;
          }}
        >
          {t("mount.deleteQuestion")}
          <DeleteEffects name={mount.name} />
        </Confirm>
      )}
    </>
  );
}

/** Servers from which a deletion removes a mount. */
function DeleteEffects({ name }: { readonly name: string }) {
  const { data } = useCall(
    (signal) => mountService.deleteMounts({ names: [name], dryRun: true }, { signal }),
    [name],
  );
  return <Effects effects={data?.results.flatMap((result) => result.effects) ?? []} />;
}

/** Reports whether the mount has a secret for an item, which stays unless a new one is entered. */
function isKept(mount: Mount | undefined, { name }: ConfigItem): boolean {
  return mount?.config?.[name] === MASK;
}
