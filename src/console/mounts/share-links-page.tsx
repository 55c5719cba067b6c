import { useSignal } from "@preact/signals";
import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { catalogue, catalogueFailure, followCatalogue } from "../api/drivers.ts";
import { mountService } from "../api/mounts.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { useFollow } from "../components/use-call.ts";
import { ItemField } from "../drivers/item-field.tsx";
import type { Values } from "../drivers/shown.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { sharesTexts } from "../i18n/en/shares.ts";
import { addMessages, t } from "../i18n/language.ts";
import { type ChosenSites, NO_SITE } from "../records/chosen-sites.ts";
import { SiteChoice } from "../records/site-choice.tsx";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { WaitingPage } from "../shell/waiting-page.tsx";
import { DriverSelect } from "./driver-select.tsx";
import { SaveOutcome } from "./save-outcome.tsx";
import { type LineMounts, mountsOf, otherItems, shareItem } from "./share-links.ts";
import "./mounts.css";

addMessages(mountsTexts, pagesTexts, recordsTexts, sharesTexts);

/** New mounts of one driver, one for each pasted share link, saved in one revision after a preview. */
export default function ShareLinksPage() {
  useFollow((signal) => followCatalogue(signal), []);
  if (catalogue.value !== undefined) return <ShareLinks />;
  return <WaitingPage title={t("mounts.shareLinks")} failure={catalogueFailure.value} />;
}

/** Inputs of the page. */
interface ShareInput {
  readonly driver: string;
  readonly links: string;
  /** Pattern of the paths. */
  readonly path: string;
  /** Values of the items that are the same for all links. */
  readonly values: Values;
  readonly sites: ChosenSites;
}

const EMPTY: ShareInput = {
  driver: "",
  links: "",
  path: "/shares/{name}",
  values: {},
  sites: NO_SITE,
};

function ShareLinks() {
  const input = useSignal(EMPTY);
  const allowShared = useSignal(false);
  const preview = useSignal<readonly MountResult[] | undefined>(undefined);
  const { busy, failure, run, clear } = useAction();
  const { driver, links } = input.value;
  const info = catalogue.value?.drivers.get(driver);
  const read = info && mountsOf(links, { info, ...input.value });
  const mounts = read?.mounts ?? [];
  const set = (change: Partial<ShareInput>): void => {
    input.value = { ...input.peek(), ...change };
    preview.value = undefined;
    clear();
  };
  const save = (dryRun: boolean) =>
    run(
      async ({ go }) => {
        const options = { dryRun, allowSharedCredential: allowShared.value };
        const { results } = await mountService.saveMounts({ mounts: [...mounts], ...options });
        if (dryRun) preview.value = results;
        else go(href("mounts"));
      },
      () => {
        preview.value = undefined;
      },
    );
  return (
    <>
      <PageHead title={t("mounts.shareLinks")}>
        <a class="button" href={href("mounts")}>
          {t("page.mounts")}
        </a>
      </PageHead>
      <ShareFields input={input.value} info={info} set={set} />
      {read !== undefined && read.refused.length > 0 && <RefusedLines of={read.refused} />}
      <SaveOutcome failure={failure} results={preview.value} allowShared={allowShared} />
      <div class="ways">
        <Button disabled={busy || mounts.length === 0} onClick={() => void save(true)}>
          {t("record.preview")}
        </Button>
        {preview.value && (
          <Button kind="main" disabled={busy} onClick={() => void save(false)}>
            {t("record.save")}
          </Button>
        )}
      </div>
    </>
  );
}

/** Fields for the driver, the links, and what is the same for all links. */
function ShareFields(props: {
  readonly input: ShareInput;
  readonly info: DriverInfo | undefined;
  readonly set: (change: Partial<ShareInput>) => void;
}) {
  const { info, set } = props;
  const { driver, links, path, values, sites } = props.input;
  const drivers = [...(catalogue.value?.drivers ?? [])].filter(([, one]) => shareItem(one));
  return (
    <div class="sheet block block-form">
      <DriverSelect
        drivers={drivers}
        value={driver}
        onChange={(name) => set({ driver: name, values: {} })}
      />
      <Field
        label={t("shares.links")}
        hint={t("shares.linksHint")}
        wrong={undefined}
        value={links}
        lines
        onChange={(text) => set({ links: text })}
      />
      <Field
        label={t("shares.path")}
        hint={t("shares.pathHint")}
        wrong={undefined}
        value={path}
        onChange={(text) => set({ path: text })}
      />
      <SiteChoice
        value={sites}
        all={t("mount.everySite")}
        hint={t("mount.sitesHint")}
        onChange={(chosen) => set({ sites: chosen })}
      />
      {info &&
        otherItems(info, values).map((item) => (
          <ItemField
            key={item.name}
            item={item}
            value={values[item.name]}
            wrong={undefined}
            missing={!values[item.name]}
            onChange={(text) => set({ values: { ...values, [item.name]: text } })}
          />
        ))}
    </div>
  );
}

/** Lines without a mount, with the reasons. */
function RefusedLines({ of }: { readonly of: LineMounts["refused"] }) {
  return (
    <Notice kind="wrong">
      <ul class="share-lines">
        {of.map(({ line, problem }) => (
          <li key={`${line} ${problem}`}>
            {t("shares.line", { line, problem: t(`shares.${problem}`) })}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
