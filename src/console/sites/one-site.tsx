import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Effect } from "../../../gen/mooring/v1/effect_pb.js";
import { type Site, SiteMode } from "../../../gen/mooring/v1/site_pb.js";
import { problemOf } from "../api/failure.ts";
import { may } from "../api/rights.ts";
import { siteService } from "../api/sites.ts";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialog.tsx";
import { lazy } from "../components/lazy.tsx";
import { Notice } from "../components/state.tsx";
import { Fact, When } from "../components/text.tsx";
import { useCall } from "../components/use-call.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { addMessages, t } from "../i18n/language.ts";
import { Effects, Results } from "../records/results.tsx";
import { href, place, refine } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { SiteDifferences } from "./differences.tsx";
import { SiteState } from "./list.tsx";
import { SiteForm } from "./site-form-later.tsx";
import { SiteLog } from "./site-log.tsx";

addMessages(mountsTexts, recordsTexts);

const SiteMounts = lazy(async () => (await import("./site-mounts.tsx")).SiteMounts);
const Days = lazy(async () => (await import("../days/strip.tsx")).OneStrip);

/** Site with its status, differences and actions. */
export function OneSite({ site }: { readonly site: Site }) {
  const wrong = useSignal("");
  const reloads = useSignal(0);
  /** Runs an action on the site, then shows the new state. */
  const act = async (action: Promise<unknown>): Promise<void> => {
    try {
      await action;
      wrong.value = "";
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    }
    reloads.value += 1;
  };
  const { status } = site;
  return (
    <>
      <PageHead title={site.name}>
        <SiteActions site={site} act={act} />
      </PageHead>
      {wrong.value !== "" && wrong.value !== status?.cause && (
        <Notice kind="wrong">{wrong.value}</Notice>
      )}
      {status && ["differs", "failing", "stuck"].includes(status.state) && (
        <Notice kind="warning">
          {status.cause}
          {status.remedy !== "" && <p class="quiet small">{status.remedy}</p>}
        </Notice>
      )}
      <Facts site={site} />
      {may("incidents:read") && <Days site={site.name} mountPath="" />}
      {may("settings:read") && (
        <SiteDifferences site={site} reloads={reloads.value} onDone={() => (reloads.value += 1)} />
      )}
      {may("mounts:read") && <SiteMounts site={site} />}
      <SiteLog site={site} />
      {place.value.query.has("edit") && (
        <SiteForm site={site} onClose={() => refine({ edit: undefined })} />
      )}
    </>
  );
}

/** Change with effects on mounts of the server, which waits for a confirmation. */
interface PlannedChange {
  readonly input: { readonly mode?: SiteMode; readonly paused?: boolean };
  readonly etag: string;
  readonly effects: readonly Effect[];
}

/** Actions on a site; those with effects on its server ask first. */
function SiteActions(props: {
  readonly site: Site;
  readonly act: (action: Promise<unknown>) => Promise<void>;
}) {
  const { site, act } = props;
  const { name, mode, paused, upstream } = site;
  const isDialogOpen = useSignal(false);
  const planned = useSignal<PlannedChange | undefined>(undefined);
  const follows = mode === SiteMode.FOLLOW;
  const afterLast = useOneByOne();
  const update = ({ input, etag }: Omit<PlannedChange, "effects">) =>
    afterLast(() => siteService.updateSite({ name, site: input, expectedEtag: etag }));
  const plan = async (input: PlannedChange["input"]): Promise<void> => {
    const change = await afterLast(async () => {
      const etag = (await siteService.getSite({ name })).site?.etag ?? "";
      const call = { name, site: input, expectedEtag: etag };
      const { records } = await siteService.updateSite({ ...call, dryRun: true });
      const effects = records.flatMap((record) => record.effects);
      if (effects.length === 0) await siteService.updateSite(call);
      return { input, etag, effects };
    });
    if (change.effects.length > 0) planned.value = change;
  };
  return (
    <div class="ways">
      <a class="button" href={href("sites")}>
        {t("page.sites")}
      </a>
      {may("users:read") && (
        <a class="button" href={href("users", { site: name })}>
          {t("site.users")}
        </a>
      )}
      {may("sites:manage") && (
        <Button onClick={() => void act(siteService.checkSite({ name }))}>{t("site.check")}</Button>
      )}
      {may("sites:manage", "settings:reveal", "mounts:reveal", "rules:reveal") && (
        <>
          <Button onClick={() => refine({ edit: "1" })}>{t("site.edit")}</Button>
          <Button
            onClick={() => void act(plan({ mode: follows ? SiteMode.OBSERVE : SiteMode.FOLLOW }))}
          >
            {t(follows ? "site.observe" : "site.follow")}
          </Button>
          <Button onClick={() => void act(plan({ paused: !paused }))}>
            {t(paused ? "site.resume" : "site.pause")}
          </Button>
        </>
      )}
      {!upstream && may("sites:manage") && (
        <Button
          onClick={() => {
            isDialogOpen.value = true;
          }}
        >
          {t("site.forget")}
        </Button>
      )}
      {planned.value !== undefined && (
        <Confirm
          title={t("effect.title")}
          action={t(planned.value.input.mode === SiteMode.FOLLOW ? "site.follow" : "site.resume")}
          onAction={() => (planned.value ? act(update(planned.value)) : Promise.resolve())}
          onClose={() => {
            planned.value = undefined;
          }}
        >
          <Effects effects={planned.value.effects} />
        </Confirm>
      )}
      {isDialogOpen.value && (
        <Confirm
          title={t("site.forget")}
          action={t("site.forgetNow")}
          onAction={async ({ go }) => {
            await siteService.deleteSite({ name });
            go(href("sites"));
          }}
          onClose={() => {
            isDialogOpen.value = false;
          }}
        >
          {t("site.forgetQuestion")}
          <NamingMounts site={name} />
        </Confirm>
      )}
    </div>
  );
}

/**
 * Runs changes of a site one after the other: each is planned on the state that the former left.
 *
 * @returns a function that runs a change after the ones before it.
 */
function useOneByOne(): <T>(change: () => Promise<T>) => Promise<T> {
  const last = useRef<Promise<unknown>>(Promise.resolve());
  return (change) => {
    const result = last.current.then(change);
    last.current = result.catch(() => undefined);
    return result;
  };
}

/** State and members of a site. */
function Facts({ site }: { readonly site: Site }) {
  const { status, include, exclude, overrides } = site;
  const follows = site.mode === SiteMode.FOLLOW;
  return (
    <dl class="facts">
      <Fact name={t("site.state")}>
        <SiteState site={site} />
      </Fact>
      <Fact name={t("sites.url")}>{site.url}</Fact>
      <Fact name={t("site.mode")}>{t(follows ? "site.follows" : "site.observed")}</Fact>
      <Fact name={t("sites.include")}>{include.join(", ")}</Fact>
      <Fact name={t("sites.exclude")}>{exclude.join(", ")}</Fact>
      <Fact name={t("site.overrides")}>{Object.keys(overrides).join(", ")}</Fact>
      {status && status.version !== "" && (
        <Fact name={t("site.kind")}>{`${status.kind} ${status.version}`}</Fact>
      )}
      {status && status.appliedRevision > 0n && (
        <Fact name={t("site.applied")}>
          {t("row.revision", { revision: String(status.appliedRevision) })}
        </Fact>
      )}
      {status?.reachTime && (
        <Fact name={t("site.reached")}>
          <When time={timestampMs(status.reachTime)} />
        </Fact>
      )}
    </dl>
  );
}

/** Mounts that name a site, with the sites on which they stay without it. */
function NamingMounts({ site }: { readonly site: string }) {
  const { data } = useCall(
    (signal) => siteService.deleteSite({ name: site, dryRun: true }, { signal }),
    [site],
  );
  return <Results results={data?.records ?? []} />;
}
