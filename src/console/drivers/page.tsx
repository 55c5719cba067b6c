import { catalogue, catalogueFailure, followCatalogue } from "../api/drivers.ts";
import { useFollow } from "../components/use-call.ts";
import { driversTexts } from "../i18n/en/drivers.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href, place } from "../shell/location.ts";
import { GonePage, WaitingPage } from "../shell/waiting-page.tsx";
import { DriverForm } from "./form.tsx";
import { DriverList } from "./list.tsx";
import "./drivers.css";

addMessages(driversTexts, pagesTexts);

/** The drivers of this deployment, and a form for each that is checked by the service. */
export default function DriversPage() {
  useFollow(followCatalogue, []);
  const known = catalogue.value;
  const name = place.value.query.get("name");
  if (known === undefined)
    return (
      <WaitingPage title={name ?? t("page.drivers")} failure={catalogueFailure.value} rows={6} />
    );
  if (name === null) return <DriverList drivers={known.drivers} />;
  const info = known.drivers.get(name);
  if (info === undefined)
    return (
      <GonePage title={name} icon="drivers" text={t("drivers.gone", { name })}>
        <a href={href("drivers")}>{t("page.drivers")}</a>
      </GonePage>
    );
  return <DriverForm key={name} name={name} info={info} />;
}
