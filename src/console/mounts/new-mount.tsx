import { catalogue } from "../api/drivers.ts";
import { t } from "../i18n/language.ts";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { MountForm } from "./mount-form.tsx";

/** A new mount: its driver first, then the driver's form. */
export function NewMount({ driver }: { readonly driver: string }) {
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
            {t("shares.title")}
          </a>
        </div>
      </PageHead>
      <div class="sheet block block-form">
        <label class="label" for="mount-driver">
          {t("mount.driver")}
        </label>
        <select
          id="mount-driver"
          class="input"
          value=""
          onChange={(event) => go(href("mount", { new: event.currentTarget.value }))}
        >
          <option value="">{t("drivers.choose")}</option>
          {[...drivers].map(([name, { label }]) => (
            <option key={name} value={name}>
              {label || name}
            </option>
          ))}
        </select>
      </div>
    </>
  );
}
