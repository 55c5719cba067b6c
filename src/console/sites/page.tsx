import { may } from "../api/rights.ts";
import { followSites, sites, sitesFailure } from "../api/sites.ts";
import { Button } from "../components/button.tsx";
import { Empty } from "../components/state.tsx";
import { useFollow } from "../components/use-call.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { sitesTexts } from "../i18n/en/sites.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href, place, refine } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { GonePage, WaitingPage } from "../shell/waiting-page.tsx";
import { SiteList } from "./list.tsx";
import { OneSite } from "./one-site.tsx";
import { SiteForm } from "./site-form-later.tsx";

import "./sites.css";
import "../components/field.css";

addMessages(pagesTexts, sitesTexts);

/** Sites with their states and differences. */
export default function SitesPage() {
  useFollow(followSites, []);
  const known = sites.value;
  const name = place.value.query.get("name");
  if (known === undefined)
    return <WaitingPage title={name ?? t("page.sites")} failure={sitesFailure.value} />;
  const site = name === null ? undefined : known.get(name);
  if (site) return <OneSite key={site.name} site={site} />;
  if (name !== null)
    return (
      <GonePage title={name} icon="sites" text={t("sites.gone", { name })}>
        <a href={href("sites")}>{t("page.sites")}</a>
      </GonePage>
    );
  const mayAdd = may("sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal");
  return (
    <>
      <PageHead title={t("page.sites")}>
        {mayAdd && (
          <Button icon="add" onClick={() => refine({ new: "1" })}>
            {t("sites.add")}
          </Button>
        )}
      </PageHead>
      {mayAdd && place.value.query.has("new") && (
        <SiteForm onClose={() => refine({ new: undefined })} />
      )}
      {known.size === 0 ? (
        <Empty icon="sites" title={t("sites.none")}>
          <p class="quiet">{t("sites.about")}</p>
        </Empty>
      ) : (
        <SiteList sites={[...known.values()]} />
      )}
    </>
  );
}
