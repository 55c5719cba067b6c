import { useSignal } from "@preact/signals";
import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { Mount } from "../../../gen/mooring/v1/mount_pb.js";
import { mountService } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { lazy } from "../components/lazy.tsx";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { ExportRows } from "./export-rows.tsx";
import { ReplaceCredential } from "./replace.tsx";

const NameDialog = lazy(() => import("./name-dialog.tsx").then((module) => module.NameDialog));
const DeleteDialog = lazy(() =>
  import("../records/delete-dialog.tsx").then((module) => module.DeleteDialog),
);

const ACTIONS = [
  { action: "copy", label: "mount.copy" },
  { action: "rename", label: "mount.rename" },
  { action: "delete", label: "mount.delete" },
] as const;

/** Actions on one mount. */
export function MountActions({
  mount,
  info,
}: {
  readonly mount: Mount;
  readonly info: DriverInfo | undefined;
}) {
  const openDialog = useSignal<"copy" | "rename" | "delete" | undefined>(undefined);
  const close = (): void => {
    openDialog.value = undefined;
  };
  return (
    <>
      <ReplaceCredential mount={mount} info={info} />
      {may("mounts:write") &&
        ACTIONS.map(({ action, label }) => (
          <Button
            key={action}
            onClick={() => {
              openDialog.value = action;
            }}
          >
            {t(label)}
          </Button>
        ))}
      <ExportRows names={[mount.name]} />
      {may("history:read") && (
        <a class="button" href={href("history", { key: `mount:${mount.name}` })}>
          {t("page.history")}
        </a>
      )}
      {(openDialog.value === "copy" || openDialog.value === "rename") && (
        <NameDialog action={openDialog.value} mount={mount} onClose={close} />
      )}
      {openDialog.value === "delete" && (
        <DeleteDialog
          name={mount.name}
          question={t("mount.deleteQuestion")}
          send={(options, signal) =>
            mountService.deleteMounts(
              { ...options, names: [mount.name] },
              { ...(signal && { signal }) },
            )
          }
          next={href("mounts")}
          onClose={close}
        />
      )}
    </>
  );
}
