import type { Mount, MountStatus } from "../../../gen/mooring/v1/mount_pb.js";
import { incidents } from "../api/incidents.ts";
import { t } from "../i18n/language.ts";
import { isLong, RecordItem, StateCounts, StateOnSite, sitesText } from "../records/list.tsx";
import { href } from "../shell/location.ts";
import { CLASSES } from "./incident-classes.ts";

/** State of a mount on a site, with the class of its open incident there. */
export function OnSite({ mount, of }: { readonly mount: Mount; readonly of: MountStatus }) {
  const path = mount.overrides[of.site]?.mountPath || mount.mountPath;
  const incident = incidents.value.find((each) => each.site === of.site && each.mountPath === path);
  const kind = incident && of.state === "failing" ? CLASSES[incident.class] : undefined;
  return <StateOnSite of={of} cause={kind === undefined ? "" : t(kind)} />;
}

/** List of all mounts with their status on their sites. */
export function MountList({ mounts }: { readonly mounts: readonly Mount[] }) {
  return (
    <ul class="sheet mounts">
      {mounts.map((mount) => (
        <RecordItem
          key={mount.name}
          name={mount.name}
          address={href("mount", { name: mount.name })}
          badges={[
            ...(mount.disabled ? [t("mount.disabled")] : []),
            ...(mount.missing.length > 0 ? [t("record.incomplete")] : []),
          ]}
          facts={
            <>
              <code>{mount.mountPath}</code> · {mount.driver} · {sitesText(mount.sites)}
            </>
          }
        >
          {isLong(mount.status) ? (
            <StateCounts of={mount.status} />
          ) : (
            mount.status.map((status) => <OnSite key={status.site} mount={mount} of={status} />)
          )}
        </RecordItem>
      ))}
    </ul>
  );
}
