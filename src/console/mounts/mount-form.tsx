import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ConfigItem, DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import { type Mount, MountContent, type MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import type { PendingSite } from "../../../gen/mooring/v1/setting_pb.js";
import { type Failure, failureOf } from "../api/failure.ts";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Check, Field, ReasonField } from "../components/field.tsx";
import { lazy } from "../components/lazy.tsx";
import { Notice } from "../components/state.tsx";
import { ItemField } from "../drivers/item-field.tsx";
import { isShown } from "../drivers/shown.ts";
import { t } from "../i18n/language.ts";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import {
  type Draft,
  draftOf,
  inputOf,
  isEdited,
  itemOf,
  MASK,
  OWN_ITEMS,
  rebased,
} from "./input.ts";
import { MountActions } from "./mount-actions.tsx";
import { OnItsSites } from "./on-its-sites.tsx";
import { Effects, SaveOutcome } from "./results.tsx";
import { SiteChoice } from "./site-choice.tsx";

const OverrideFields = lazy(() =>
  import("./override-fields.tsx").then((module) => module.OverrideFields),
);

interface MountFormProps {
  /** Undefined: a new mount. */
  readonly mount?: Mount;
  readonly driver: string;
  /** Undefined: the driver is no longer in the catalogue. */
  readonly info: DriverInfo | undefined;
}

/** Mount with its status on its sites, and the form of its driver. */
export function MountForm({ mount, driver, info }: MountFormProps) {
  const draft = useSignal(draftOf(mount));
  const name = useSignal(mount?.name ?? "");
  const asksOverrides = useSignal(false);
  const reason = useSignal("");
  const failure = useSignal<Failure | undefined>(undefined);
  const preview = useSignal<readonly MountResult[] | undefined>(undefined);
  const pending = useSignal<readonly PendingSite[]>([]);
  const allowShared = useSignal(false);
  const busy = useSignal(false);
  const effects = useSignal<readonly Effect[]>([]);
  const set = (change: Partial<Draft>): void => {
    draft.value = { ...draft.peek(), ...change };
  };
  const { base } = draft.value;
  const isOutdated = mount !== undefined && mount.etag !== base?.etag;
  const edited = isEdited(draft.value);
  // A mount that another client changes is shown, unless this form has inputs.
  useEffect(() => {
    if (isOutdated && !edited) draft.value = draftOf(mount);
  }, [isOutdated, edited, mount, draft]);
  const wrong = new Map(
    failure.value?.violations.map(({ field, description }) => [itemOf(field), description]),
  );
  const showsOverrides = asksOverrides.value || draft.value.overrides.size > 0;
  const mayWrite = may("mounts:write") && info !== undefined;
  /** Saves, or shows a preview: also before a save with an effect on a running server. */
  const save = async (dryRun: boolean, isConfirmed = false): Promise<void> => {
    if (info === undefined) return;
    busy.value = true;
    const input = inputOf(name.value.trim(), draft.value, info);
    try {
      const request = {
        mounts: [input],
        allowSharedCredential: allowShared.value,
        reason: reason.value.trim(),
      };
      const planned = await mountService.saveMounts({ ...request, dryRun: true });
      failure.value = undefined;
      preview.value = planned.results;
      if (dryRun) return;
      effects.value = planned.results.flatMap((result) => result.effects);
      if (effects.value.length > 0 && !isConfirmed) return;
      const reply = await mountService.saveMounts(request);
      preview.value = reply.results;
      pending.value = reply.pendingSites;
      reason.value = "";
      if (mount === undefined) return go(href("mount", { name: input.name }));
      const saved = await mountService.getMount({ name: mount.name });
      draft.value = draftOf(saved.mount);
    } catch (thrown) {
      failure.value = failureOf(thrown);
      preview.value = undefined;
    } finally {
      busy.value = false;
    }
  };
  const part = (title: string, list: readonly ConfigItem[]) => (
    <Items
      title={title}
      list={list}
      info={info}
      draft={draft.value}
      wrong={wrong}
      onChange={(item, value) =>
        set({
          values: { ...draft.peek().values, [item]: value },
          touched: new Set(draft.peek().touched).add(item),
        })
      }
    />
  );
  return (
    <>
      <PageHead title={mount?.name ?? t("mounts.new")}>
        <div class="ways">
          <a class="button" href={href("mounts")}>
            {t("page.mounts")}
          </a>
          {mount !== undefined && <MountActions mount={mount} info={info} />}
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
      {isOutdated && edited && (
        <Notice kind="warning">
          {t("mount.outdated")}{" "}
          <Button onClick={() => set(rebased(draft.peek(), mount))}>{t("mount.continue")}</Button>
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
            value={draft.value.sites}
            all={t("mount.everySite")}
            hint={t("mount.sitesHint")}
            wrong={wrong.get("sites")}
            onChange={(sites) => set({ sites })}
          />
          <Check
            label={t("mount.isDisabled")}
            checked={draft.value.disabled}
            onChange={(disabled) => set({ disabled })}
          />
          <Check
            label={t("mount.overwrites")}
            checked={draft.value.content === MountContent.OVERWRITE}
            onChange={(overwrites) =>
              set({ content: overwrites ? MountContent.OVERWRITE : MountContent.ADOPT })
            }
          />
        </section>
        {info && part(t("drivers.own"), info.additional)}
        {info && part(t("drivers.common"), info.common)}
        {mayWrite && !showsOverrides && (
          <div class="ways">
            <Button
              onClick={() => {
                asksOverrides.value = true;
              }}
            >
              {t("mount.overrides")}
            </Button>
          </div>
        )}
        {mayWrite && showsOverrides && (
          <OverrideFields
            value={draft.value.overrides}
            info={info}
            wrong={wrong}
            onChange={(overrides) => set({ overrides })}
          />
        )}
        {mayWrite && (
          <ReasonField
            value={reason.value}
            onChange={(text) => {
              reason.value = text;
            }}
          />
        )}
        <SaveOutcome failure={failure.value} results={preview.value} allowShared={allowShared} />
        <PendingSites of={pending.value} />
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
    </>
  );
}

/** Items of the driver, or of every mount, that the current values show. */
function Items(props: {
  readonly title: string;
  readonly list: readonly ConfigItem[];
  readonly info: DriverInfo | undefined;
  readonly draft: Draft;
  readonly wrong: ReadonlyMap<string, string>;
  readonly onChange: (item: string, value: string) => void;
}) {
  const { title, list, info, draft, wrong, onChange } = props;
  const items = new Map(
    [...(info?.common ?? []), ...(info?.additional ?? [])].map((item) => [item.name, item]),
  );
  const shown = list.filter(
    (item) =>
      isShown(item, items, draft.values) &&
      (item.name === "mount_path" || !OWN_ITEMS.has(item.name)),
  );
  if (shown.length === 0) return null;
  return (
    <section class="sheet" aria-label={title}>
      <h2 class="sheet-title">{title}</h2>
      {shown.map((item) => (
        <ItemField
          key={item.name}
          item={isKept(draft.base, item) ? { ...item, default: MASK } : item}
          value={draft.values[item.name]}
          wrong={wrong.get(item.name)}
          missing={wrong.has(item.name)}
          onChange={(value) => onChange(item.name, value)}
        />
      ))}
    </section>
  );
}

/** Sites that do not get a change now. */
function PendingSites({ of }: { readonly of: readonly PendingSite[] }) {
  if (of.length === 0) return null;
  return (
    <Notice kind="warning">
      {t("mount.pending")}
      <ul>
        {of.map(({ site, reason }) => (
          <li key={site}>
            {site}: {reason}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** Reports whether the mount has a secret for an item, which stays unless a new one is entered. */
function isKept(mount: Mount | undefined, { name }: ConfigItem): boolean {
  return mount?.config?.[name] === MASK;
}
