import { useSignal } from "@preact/signals";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import type { ShareProblem } from "../../client/share-text.ts";
import { catalogue, catalogueFailure, followCatalogue } from "../api/drivers.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { mountService } from "../api/mounts.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { useFollow } from "../components/use-call.ts";
import { ItemField } from "../drivers/item-field.tsx";
import type { Values } from "../drivers/shown.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { sharesTexts } from "../i18n/en/shares.ts";
import { addMessages, t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { type ChosenSites, NO_SITE } from "../records/chosen-sites.ts";
import { SiteChoice } from "../records/site-choice.tsx";
import { go, href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { WaitingPage } from "../shell/waiting-page.tsx";
import { DriverSelect } from "./driver-select.tsx";
import { SaveOutcome } from "./save-outcome.tsx";
import { mountsOf, otherItems, shareItem } from "./share-links.ts";
import "./mounts.css";

addMessages(mountsTexts, pagesTexts, recordsTexts, sharesTexts);

const PROBLEMS: Readonly<Record<ShareProblem, MessageKey>> = {
  noAddress: "shares.noAddress",
  otherProvider: "shares.otherProvider",
  noShare: "shares.noShare",
  unknownPart: "shares.unknownPart",
  unclearCode: "shares.unclearCode",
  noCode: "shares.noCode",
  repeated: "shares.repeated",
};

/** New mounts of one driver, one for each pasted share link, saved in one revision after a preview. */
export default function ShareLinksPage() {
  useFollow((signal) => followCatalogue(signal), []);
  if (catalogue.value !== undefined) return <ShareLinks />;
  return <WaitingPage title={t("mounts.shareLinks")} failure={catalogueFailure.value} />;
}

function ShareLinks() {
  const driver = useSignal("");
  const links = useSignal("");
  const path = useSignal("/shares/{name}");
  const values = useSignal<Values>({});
  const sites = useSignal<ChosenSites>(NO_SITE);
  const allowShared = useSignal(false);
  const preview = useSignal<readonly MountResult[] | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const busy = useSignal(false);
  const drivers = [...(catalogue.value?.drivers ?? [])].filter(([, info]) => shareItem(info));
  const info = catalogue.value?.drivers.get(driver.value);
  const read =
    info &&
    mountsOf(links.value, { info, path: path.value, values: values.value, sites: sites.value });
  const mounts = read?.mounts ?? [];
  const edit = (change: () => void): void => {
    change();
    preview.value = undefined;
    failure.value = undefined;
  };
  const save = async (dryRun: boolean): Promise<void> => {
    busy.value = true;
    const options = { dryRun, allowSharedCredential: allowShared.value };
    try {
      const { results } = await mountService.saveMounts({ mounts: [...mounts], ...options });
      failure.value = undefined;
      if (dryRun) preview.value = results;
      else go(href("mounts"));
    } catch (thrown) {
      failure.value = failureOf(thrown);
      preview.value = undefined;
    } finally {
      busy.value = false;
    }
  };
  return (
    <>
      <PageHead title={t("mounts.shareLinks")}>
        <a class="button" href={href("mounts")}>
          {t("page.mounts")}
        </a>
      </PageHead>
      <div class="sheet block block-form">
        <DriverSelect
          drivers={drivers}
          value={driver.value}
          onChange={(name) =>
            edit(() => {
              driver.value = name;
              values.value = {};
            })
          }
        />
        <Field
          label={t("shares.links")}
          hint={t("shares.linksHint")}
          wrong={undefined}
          value={links.value}
          lines
          onChange={(text) =>
            edit(() => {
              links.value = text;
            })
          }
        />
        <Field
          label={t("shares.path")}
          hint={t("shares.pathHint")}
          wrong={undefined}
          value={path.value}
          onChange={(text) =>
            edit(() => {
              path.value = text;
            })
          }
        />
        <SiteChoice
          value={sites.value}
          all={t("mount.everySite")}
          hint={t("mount.sitesHint")}
          onChange={(chosen) =>
            edit(() => {
              sites.value = chosen;
            })
          }
        />
        {info &&
          otherItems(info, values.value).map((item) => (
            <ItemField
              key={item.name}
              item={item}
              value={values.value[item.name]}
              wrong={undefined}
              missing={!values.value[item.name]}
              onChange={(text) =>
                edit(() => {
                  values.value = { ...values.peek(), [item.name]: text };
                })
              }
            />
          ))}
      </div>
      {read !== undefined && read.refused.length > 0 && (
        <Notice kind="wrong">
          <ul class="share-lines">
            {read.refused.map(({ line, problem }) => (
              <li key={`${line} ${problem}`}>
                {t("shares.line", { line, problem: t(PROBLEMS[problem]) })}
              </li>
            ))}
          </ul>
        </Notice>
      )}
      <SaveOutcome failure={failure.value} results={preview.value} allowShared={allowShared} />
      <div class="ways">
        <Button disabled={busy.value || mounts.length === 0} onClick={() => void save(true)}>
          {t("record.preview")}
        </Button>
        {preview.value && (
          <Button kind="main" disabled={busy.value} onClick={() => void save(false)}>
            {t("record.save")}
          </Button>
        )}
      </div>
    </>
  );
}
