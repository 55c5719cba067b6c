import { useSignal } from "@preact/signals";
import { failureOf } from "../api/failure.ts";
import { may } from "../api/rights.ts";
import { followSites, siteService, sites, sitesFailure } from "../api/sites.ts";
import { AddButton, Dialog, FormActions } from "../components/dialog.tsx";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useFollow } from "../components/use-call.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { sitesTexts } from "../i18n/en/sites.ts";
import { addMessages, t } from "../i18n/language.ts";
import { go, href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { SiteList } from "./list.tsx";
import { OneSite } from "./one-site.tsx";

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
        {may("sites:manage", "settings:reveal", "mounts:reveal") && <AddSite />}
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

const EMPTY = { name: "", url: "", token: "" };

function AddSite() {
  return <AddButton label={t("sites.add")} dialog={(close) => <AddDialog onClose={close} />} />;
}

/** Dialog that adds a site after it has answered. Nothing is written to the site. */
function AddDialog({ onClose }: { readonly onClose: () => void }) {
  const input = useSignal(EMPTY);
  const wrong = useSignal<readonly string[]>([]);
  const busy = useSignal(false);
  const add = async (): Promise<void> => {
    busy.value = true;
    try {
      const { site } = await siteService.createSite({ site: input.value });
      onClose();
      go(href("sites", { name: site?.name }));
    } catch (thrown) {
      const { violations, message } = failureOf(thrown);
      const said = violations.map(({ description }) => description);
      wrong.value = said.length > 0 ? said : [message || t("state.offline")];
    } finally {
      busy.value = false;
    }
  };
  const common = (name: keyof typeof EMPTY) =>
    ({
      id: `site-${name}`,
      class: "input mono",
      autocomplete: "off",
      spellcheck: false,
      value: input.value[name],
      onInput: (event: { currentTarget: HTMLInputElement }) => {
        input.value = { ...input.peek(), [name]: event.currentTarget.value };
      },
    }) as const;
  const field = (name: keyof typeof EMPTY) => (
    <div>
      <label class="label" for={`site-${name}`}>
        {t(`sites.${name}`)}
      </label>
      {name === "token" ? <input {...common(name)} type="password" /> : <input {...common(name)} />}
    </div>
  );
  return (
    <Dialog title={t("sites.add")} onClose={onClose}>
      <form
        class="block-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value) void add();
        }}
      >
        <p class="quiet">{t("sites.addAbout")}</p>
        {field("name")}
        {field("url")}
        {field("token")}
        {wrong.value.map((words) => (
          <p key={words} class="wrong" role="alert">
            {words}
          </p>
        ))}
        <FormActions label={t("sites.add")} busy={busy.value} onCancel={onClose} />
      </form>
    </Dialog>
  );
}
