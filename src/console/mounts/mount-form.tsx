import { useSignal } from "@preact/signals";
import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { Mount } from "../../../gen/mooring/v1/mount_pb.js";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Notice } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { RecordFrame, useRecordForm } from "../records/record-form.tsx";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { changesOf, draftOf, inputOf, itemOf, readDraft, rebased, writeDraft } from "./input.ts";
import { MountActions } from "./mount-actions.tsx";
import { MountFields } from "./mount-fields.tsx";
import { OnItsSites } from "./on-its-sites.tsx";
import { SaveOutcome } from "./save-outcome.tsx";

/** Mount with its status on its sites, and the form of its driver. */
export function MountForm(props: {
  /** Undefined: a new mount. */
  readonly mount?: Mount;
  readonly driver: string;
  /** Undefined: the driver is no longer in the catalogue. */
  readonly info: DriverInfo | undefined;
}) {
  const { mount, driver, info } = props;
  const allowShared = useSignal(false);
  const form = useRecordForm({
    name: mount ? `mount:${mount.name}` : `mount-new:${driver}`,
    record: mount,
    initial: () => draftOf(mount),
    draftOf,
    changes: changesOf,
    rebased,
    write: (draft) => writeDraft(draft, info),
    read: readDraft,
    send: (draft, options) =>
      mountService.saveMounts({
        ...options,
        mounts: info ? [inputOf(draft, info)] : [],
        allowSharedCredential: allowShared.value,
      }),
    reload: async (draft) => {
      const name = mount?.name ?? draft.name.trim();
      if (mount === undefined) go(href("mount", { name }));
      return (await mountService.getMount({ name })).mount;
    },
  });
  const problems = form.failure?.violations ?? [];
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
      <RecordFrame
        form={form}
        mayWrite={may("mounts:write") && info !== undefined}
        outcome={
          <SaveOutcome failure={form.failure} results={form.results} allowShared={allowShared} />
        }
      >
        <MountFields
          draft={form.draft.value}
          info={info}
          wrong={new Map(problems.map(({ field, description }) => [itemOf(field), description]))}
          set={form.set}
        />
      </RecordFrame>
    </>
  );
}
