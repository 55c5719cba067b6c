import "../i18n/later.ts";
import { catalogue, followCatalogue } from "../api/drivers.ts";
import { followIncidents } from "../api/incidents.ts";
import { followMounts, mounts, mountsFailure } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { language, t } from "../i18n/language.ts";
import { Empty, Failed, Skeleton } from "../part/state.tsx";
import { useFollow } from "../part/use-follow.ts";
import { href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { AdoptMounts } from "./adopt.tsx";
import { IncidentList } from "./incidents.tsx";
import { MountList } from "./list.tsx";
import { MountForm } from "./mount-form.tsx";
import { NewMount } from "./new-mount.tsx";
import "./mounts.css";

/** Mounts of sites: how each is on its sites, what does not work, and a form for each. */
export default function MountsPage() {
  const canForm = may("drivers:read");
  useFollow(followMounts, []);
  useFollow(followIncidents, []);
  useFollow((signal) => (canForm ? followCatalogue(signal) : Promise.resolve()), [language.value]);
  const known = mounts.value;
  const { query } = place.value;
  const name = query.get("name");
  if (known === undefined || (canForm && catalogue.value === undefined))
    return (
      <>
        <PageHead title={name ?? t("page.mounts")} />
        {mountsFailure.value ? <Failed failure={mountsFailure.value} /> : <Skeleton rows={3} />}
      </>
    );
  if (query.has("new") && may("mounts:write", "drivers:read"))
    return <NewMount driver={query.get("new") ?? ""} />;
  const mount = name === null ? undefined : known.get(name);
  if (mount !== undefined) {
    const info = catalogue.value?.drivers.get(mount.driver);
    return <MountForm key={mount.name} mount={mount} driver={mount.driver} info={info} />;
  }
  return (
    <>
      <PageHead title={t("page.mounts")}>
        <div class="ways">
          {may("mounts:write") && <AdoptMounts />}
          {may("mounts:write", "drivers:read") && (
            <a class="button main" href={href("mounts", { new: "choose" })}>
              {t("mounts.new")}
            </a>
          )}
        </div>
      </PageHead>
      {name !== null && <p class="quiet">{t("mounts.gone", { name })}</p>}
      <IncidentList />
      {known.size === 0 ? (
        <Empty icon="drivers" title={t("mounts.none")}>
          <p class="quiet">{t("mounts.about")}</p>
        </Empty>
      ) : (
        <MountList mounts={[...known.values()]} />
      )}
    </>
  );
}
