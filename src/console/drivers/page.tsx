import { catalogue, catalogueFailure, followCatalogue } from "../api/drivers.ts";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useFollow } from "../components/use-call.ts";
import { driversTexts } from "../i18n/en/drivers.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { addMessages, language, t } from "../i18n/language.ts";
import { href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { DriverForm } from "./form.tsx";
import { DriverList } from "./list.tsx";
import "./drivers.css";

addMessages(driversTexts, pagesTexts);

/** The drivers of this deployment, and a form for each that is checked by the service. */
export default function DriversPage() {
  useFollow(followCatalogue, [language.value]);
  const known = catalogue.value;
  const name = place.value.query.get("name");
  if (known === undefined)
    return (
      <>
        <PageHead title={name ?? t("page.drivers")} />
        {catalogueFailure.value ? <Failed failure={catalogueFailure.value} /> : <Skeleton />}
      </>
    );
  if (name === null) return <DriverList drivers={known.drivers} />;
  const info = known.drivers.get(name);
  if (info === undefined)
    return (
      <>
        <PageHead title={name} />
        <Empty icon="drivers" title={t("drivers.gone", { name })}>
          <a href={href("drivers")}>{t("page.drivers")}</a>
        </Empty>
      </>
    );
  return <DriverForm key={name} name={name} info={info} />;
}
