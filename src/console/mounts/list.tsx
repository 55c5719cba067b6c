import type { Mount, MountStatus } from "../../../gen/mooring/v1/mount_pb.js";
import { incidents } from "../api/incidents.ts";
import { Icon } from "../components/button.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { href } from "../shell/location.ts";
import { CLASSES } from "./incident-classes.ts";

const STATES: Readonly<Record<string, MessageKey>> = {
  ok: "mount.ok",
  waiting: "mount.waiting",
  differs: "mount.differs",
  failing: "mount.failing",
  stuck: "mount.stuck",
};

/** State of a mount on a site, with the class of its open incident there. */
export function OnSite({ mount, of }: { readonly mount: Mount; readonly of: MountStatus }) {
  const path = mount.overrides[of.site]?.mountPath || mount.mountPath;
  const incident = incidents.value.find((each) => each.site === of.site && each.mountPath === path);
  const word = STATES[of.state];
  const kind = incident && of.state === "failing" ? CLASSES[incident.class] : undefined;
  const isGood = of.state === "ok" || of.state === "waiting";
  return (
    <span class={`health ${isGood ? "good" : "bad"}`}>
      <Icon name={isGood ? "done" : "warning"} />
      {of.site}: {word === undefined ? of.state : t(word)}
      {kind !== undefined && ` (${t(kind)})`}
    </span>
  );
}

function sitesText({ sites }: Mount): string {
  if (sites?.all) return t("mount.allSites");
  return sites === undefined || sites.none ? t("mount.noSite") : sites.names.join(", ");
}

/** List of all mounts with their status on their sites. */
export function MountList({ mounts }: { readonly mounts: readonly Mount[] }) {
  return (
    <ul class="sheet mounts">
      {mounts.map((mount) => (
        <li key={mount.name} data-mount={mount.name}>
          <div>
            <a href={href("mount", { name: mount.name })}>
              <strong>{mount.name}</strong>
            </a>{" "}
            {mount.disabled && <span class="badge">{t("mount.disabled")}</span>}
            {mount.missing.length > 0 && <span class="badge">{t("mount.incomplete")}</span>}
            <p class="quiet small">
              <code>{mount.mountPath}</code> · {mount.driver} · {sitesText(mount)}
            </p>
          </div>
          <p class="small">
            {mount.status.map((status) => (
              <OnSite key={status.site} mount={mount} of={status} />
            ))}
          </p>
        </li>
      ))}
    </ul>
  );
}
