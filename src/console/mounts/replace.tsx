import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { Mount } from "../../../gen/mooring/v1/mount_pb.js";
import { may } from "../api/rights.ts";
import { DialogButton } from "../components/dialog.tsx";
import { lazy } from "../components/lazy.tsx";
import { t } from "../i18n/language.ts";
import { MASK } from "../records/secret-pairs.ts";
import type { SecretPlace } from "./input.ts";

const ReplaceDialog = lazy(() =>
  import("./replace-dialog.tsx").then((module) => module.ReplaceDialog),
);

/** Secrets of a mount and of its overrides, which the service masks. */
function placesOf({ config, overrides }: Mount): readonly SecretPlace[] {
  const of = (values: Mount["config"], site: string): SecretPlace[] =>
    Object.entries(values ?? {}).flatMap(([item, value]) =>
      value === MASK ? [{ item, site }] : [],
    );
  return [
    ...of(config, ""),
    ...Object.entries(overrides).flatMap(([site, own]) => of(own.config, site)),
  ];
}

/** Replaces a credential in every mount of the driver that has the same one, after a preview. */
export function ReplaceCredential({ mount, info }: { mount: Mount; info: DriverInfo | undefined }) {
  const places = placesOf(mount);
  // The reply names the mounts that have the same secret.
  if (places.length === 0 || !may("mounts:write") || !may("mounts:reveal")) return null;
  return (
    <DialogButton
      label={t("mount.replace")}
      dialog={(close) => (
        <ReplaceDialog name={mount.name} places={places} info={info} onClose={close} />
      )}
    />
  );
}
