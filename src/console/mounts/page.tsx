import "../i18n/later.ts";
import { followIncidents } from "../api/incidents.ts";
import { followMounts, mounts, mountsFailure } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useFollow } from "../components/use-follow.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { AdoptMounts } from "./adopt.tsx";
import { IncidentList } from "./incidents.tsx";
import { MountList } from "./list.tsx";
import "./mounts.css";

/** Mounts of sites: how each is on its sites, and what does not work. */
export default function MountsPage() {
  useFollow(followMounts, []);
  useFollow(followIncidents, []);
  const known = mounts.value;
  if (known === undefined)
    return (
      <>
        <PageHead title={t("page.mounts")} />
        {mountsFailure.value ? <Failed failure={mountsFailure.value} /> : <Skeleton rows={3} />}
      </>
    );
  return (
    <>
      <PageHead title={t("page.mounts")}>
        <div class="ways">
          {may("mounts:write") && <AdoptMounts />}
          {may("mounts:write", "drivers:read") && (
            <a class="button main" href={href("mount", { new: "choose" })}>
              {t("mounts.new")}
            </a>
          )}
        </div>
      </PageHead>
      <IncidentList />
      {known.size === 0 ? (
        <Empty icon="mounts" title={t("mounts.none")}>
          <p class="quiet">{t("mounts.about")}</p>
        </Empty>
      ) : (
        <MountList mounts={[...known.values()]} />
      )}
    </>
  );
}
