import { useSignal } from "@preact/signals";
import type { Mount } from "../../../gen/mooring/v1/mount_pb.js";
import { mountService } from "../api/mounts.ts";
import { Dialog, FormActions } from "../components/dialog.tsx";
import { Check, Field, ReasonField } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { mountDialogTexts } from "../i18n/en/mount-dialogs.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";

addMessages(mountDialogTexts);

/** Dialog for the name of a copy, with its path, or for another name of the mount. */
export function NameDialog(props: {
  readonly action: "copy" | "rename";
  readonly mount: Mount;
  readonly onClose: () => void;
}) {
  const { action, mount, onClose } = props;
  const { name } = mount;
  const newName = useSignal(action === "rename" ? name : "");
  const mountPath = useSignal("");
  const reason = useSignal("");
  const allowShared = useSignal(false);
  const { busy, failure, run } = useAction();
  const act = () =>
    run(async ({ gone, go }) => {
      const common = { name, newName: newName.value.trim(), reason: reason.value.trim() };
      if (action === "rename") await mountService.renameMount(common);
      else
        await mountService.copyMount({
          ...common,
          mountPath: mountPath.value.trim(),
          allowSharedCredential: allowShared.value,
        });
      if (!gone.aborted) onClose();
      go(href("mount", { name: common.newName }));
    });
  const problems = failure?.violations ?? [];
  const wrong = (field: string): string | undefined =>
    problems.find((one) => one.field.endsWith(field))?.description;
  const isShared = allowShared.value || failure?.message.includes("allow_shared_credential");
  return (
    <Dialog title={t(`mount.${action}Title`, { name })} onClose={onClose}>
      <form
        class="block-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void act();
        }}
      >
        <Field
          label={t("mount.newName")}
          hint={t("mount.nameHint")}
          wrong={wrong("name")}
          value={newName.value}
          onChange={(text) => {
            newName.value = text;
          }}
        />
        {action === "copy" && (
          <Field
            label={t("mount.copyPath")}
            hint=""
            wrong={wrong("mount_path")}
            value={mountPath.value}
            onChange={(text) => {
              mountPath.value = text;
            }}
          />
        )}
        <ReasonField
          value={reason.value}
          onChange={(text) => {
            reason.value = text;
          }}
        />
        {isShared && (
          <Check
            label={t("mount.allowShared")}
            checked={allowShared.value}
            onChange={(checked) => {
              allowShared.value = checked;
            }}
          />
        )}
        {failure && !problems.some(({ field }) => /name|mount_path/.test(field)) && (
          <Notice kind="wrong">{failure.message || t("state.offline")}</Notice>
        )}
        <FormActions label={t(`mount.${action}`)} busy={busy} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
