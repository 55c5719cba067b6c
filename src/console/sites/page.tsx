import { may } from "../api/rights.ts";
import { followSites, sites, sitesFailure } from "../api/sites.ts";
import { AddButton } from "../components/dialog.tsx";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useFollow } from "../components/use-call.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { sitesTexts } from "../i18n/en/sites.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { SiteList } from "./list.tsx";
import { OneSite } from "./one-site.tsx";
import { SiteForm } from "./site-form.tsx";

import "./sites.css";
import "../components/field.css";

addMessages(pagesTexts, sitesTexts);

/** Sites with their states and differences. */
export default function SitesPage() {
  useFollow(followSites, []);
  const known = sites.value;
  const name = place.value.query.get("name");
  if (known === undefined)
    return (
      <>
        <PageHead title={name ?? t("page.sites")} />
        {sitesFailure.value ? <Failed failure={sitesFailure.value} /> : <Skeleton rows={3} />}
      </>
    );
  const site = name === null ? undefined : known.get(name);
  if (site) return <OneSite key={site.name} site={site} />;
  return (
    <>
      <PageHead title={t("page.sites")}>
        {may("sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal") && <AddSite />}
      </PageHead>
      {name !== null && <p class="quiet">{t("sites.gone", { name })}</p>}
      {known.size === 0 ? (
        <Empty icon="sites" title={t("sites.none")}>
          <p class="quiet">{t("sites.about")}</p>
        </Empty>
      ) : (
        <SiteList sites={[...known.values()]} />
      )}
      {name !== null && <a href={href("sites")}>{t("page.sites")}</a>}
    </>
  );
}

function AddSite() {
  return <AddButton label={t("sites.add")} dialog={(close) => <SiteForm onClose={close} />} />;
}
