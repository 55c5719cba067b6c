import type { Mount, MountStatus } from "../../../gen/mooring/v1/mount_pb.js";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { href } from "../shell/location.ts";

const STATES: Readonly<Record<string, MessageKey>> = {
  ok: "mount.ok",
  waiting: "mount.waiting",
  differs: "mount.differs",
  failing: "mount.failing",
  stuck: "mount.stuck",
};

/** Status of a mount on a site. */
export function OnSite({ of }: { readonly of: MountStatus }) {
  const word = STATES[of.state];
  const isGood = of.state === "ok" || of.state === "waiting";
  return (
    <span class={`health ${isGood ? "good" : "bad"}`}>
      <Icon name={isGood ? "done" : "warning"} />
      {of.site}: {word === undefined ? of.state : t(word)}
    </span>
  );
}

/** All mounts, each with how it is on its sites. */
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
              <code>{mount.mountPath}</code> · {mount.driver} ·{" "}
              {mount.sites.length === 0 ? t("mount.allSites") : mount.sites.join(", ")}
            </p>
          </div>
          <p class="small">
            {mount.status.map((status) => (
              <OnSite key={status.site} of={status} />
            ))}
          </p>
        </li>
      ))}
    </ul>
  );
}
