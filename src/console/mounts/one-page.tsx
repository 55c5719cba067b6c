import { catalogue, catalogueFailure, followCatalogue } from "../api/drivers.ts";
import { followIncidents } from "../api/incidents.ts";
import { followMounts, mounts, mountsFailure } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { useFollow } from "../components/use-call.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { addMessages, t } from "../i18n/language.ts";
import { go, href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { GonePage, WaitingPage } from "../shell/waiting-page.tsx";
import { DriverSelect } from "./driver-select.tsx";
import { MountForm } from "./mount-form.tsx";
import "./mounts.css";

addMessages(mountsTexts, pagesTexts, recordsTexts);

/** A mount, or a new one: its status on its sites, and the form of its driver. */
export default function MountPage() {
  const canForm = may("drivers:read");
  useFollow(followMounts, []);
  useFollow(followIncidents, []);
  useFollow((signal) => (canForm ? followCatalogue(signal) : Promise.resolve()), []);
  const known = mounts.value;
  const { query } = place.value;
  const name = query.get("name") ?? "";
  const title = name || t("page.mount");
  if (known === undefined || (canForm && catalogue.value === undefined))
    return <WaitingPage title={title} failure={mountsFailure.value ?? catalogueFailure.value} />;
  if (query.has("new") && may("mounts:write", "drivers:read"))
    return <NewMount driver={query.get("new") ?? ""} />;
  const mount = known.get(name);
  if (mount === undefined)
    return (
      <GonePage title={title} icon="mounts" text={t("mounts.gone", { name })}>
        <a href={href("mounts")}>{t("page.mounts")}</a>
      </GonePage>
    );
  const info = catalogue.value?.drivers.get(mount.driver);
  return <MountForm key={mount.name} mount={mount} driver={mount.driver} info={info} />;
}

/** New mount: selection of the driver, then its form. */
function NewMount({ driver }: { readonly driver: string }) {
  const drivers = catalogue.value?.drivers ?? new Map();
  const info = drivers.get(driver);
  if (info !== undefined) return <MountForm key={driver} driver={driver} info={info} />;
  return (
    <>
      <PageHead title={t("mounts.new")}>
        <div class="ways">
          <a class="button" href={href("mounts")}>
            {t("page.mounts")}
          </a>
          <a class="button" href={href("share-links")}>
            {t("mounts.shareLinks")}
          </a>
        </div>
      </PageHead>
      <div class="sheet block block-form">
        <DriverSelect
          drivers={[...drivers]}
          value=""
          onChange={(chosen) => go(href("mount", { new: chosen }))}
        />
      </div>
    </>
  );
}
