import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { Incident } from "../../../gen/mooring/v1/incident_pb.js";
import type { MountResult } from "../../../gen/mooring/v1/mount_pb.js";
import { problemOf } from "../api/failure.ts";
import { followIncidents, incidentService, incidents } from "../api/incidents.ts";
import { followMounts, mountService, mounts, mountsFailure } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Empty, Failed, Notice, Skeleton } from "../components/state.tsx";
import { When } from "../components/text.tsx";
import { useCall, useFollow } from "../components/use-call.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { CLASSES } from "./incident-classes.ts";
import { MountList } from "./list.tsx";
import { Results } from "./results.tsx";
import { siteNames } from "./site-choice.tsx";
import "./mounts.css";

addMessages(mountsTexts, pagesTexts);

/** Mounts of sites, with their status on each site and open incidents. */
export default function MountsPage() {
  useFollow(followMounts, []);
  useFollow(followIncidents, []);
  const known = mounts.value;
  if (known === undefined)
    return (
      <>
        <PageHead title={t("page.mounts")} />
        {mountsFailure.value ? <Failed failure={mountsFailure.value} /> : <Skeleton rows={3} />}
      </>
    );
  return (
    <>
      <PageHead title={t("page.mounts")}>
        <div class="ways">
          {may("mounts:write") && <AdoptMounts />}
          {may("mounts:write", "drivers:read") && (
            <a class="button main" href={href("mount", { new: "choose" })}>
              {t("mounts.new")}
            </a>
          )}
        </div>
      </PageHead>
      <IncidentList />
      {known.size === 0 ? (
        <Empty icon="mounts" title={t("mounts.none")}>
          <p class="quiet">{t("mounts.about")}</p>
        </Empty>
      ) : (
        <MountList mounts={[...known.values()]} />
      )}
    </>
  );
}

/** Sentence about the basis of a list without incidents. */
function Coverage() {
  const { data } = useCall(
    async (signal) =>
      (await incidentService.listIncidents({ pageSize: 1 }, { signal })).coverage?.text ?? "",
    [mounts.value],
  );
  return data === undefined || data === "" ? null : <p class="quiet coverage">{data}</p>;
}

/** Open incidents with advice, or what their absence is based on. */
function IncidentList() {
  const open = incidents.value;
  if (open.length === 0) return may("incidents:read") ? <Coverage /> : null;
  return (
    <section class="sheet" aria-labelledby="incidents">
      <h2 class="sheet-title" id="incidents">
        {t("incident.title", { count: open.length })}
      </h2>
      <ul class="incidents">
        {open.map((incident) => (
          <OneIncident key={incident.id} of={incident} />
        ))}
      </ul>
    </section>
  );
}

function OneIncident({ of }: { readonly of: Incident }) {
  const wrong = useSignal("");
  const acknowledge = async (): Promise<void> => {
    try {
      await incidentService.acknowledgeIncident({ id: of.id });
      wrong.value = "";
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    }
  };
  const word = CLASSES[of.class];
  return (
    <li>
      <p>
        <strong>
          {of.site} <code>{of.mountPath}</code>
        </strong>{" "}
        {word && <span class="badge">{t(word)}</span>}{" "}
        <span class="quiet small">
          {of.driver}
          {of.openTime && (
            <>
              {" · "}
              <When time={timestampMs(of.openTime)} />
            </>
          )}
          {of.acknowledgeTime && ` · ${t("incident.acknowledged", { actor: of.acknowledgedBy })}`}
        </span>
      </p>
      {of.message !== "" && <p class="mono small">{of.message}</p>}
      <p>{of.action}</p>
      {of.items.length > 0 && (
        <p class="quiet small">
          {t("incident.items", {
            names: of.items.map(({ label, name }) => label || name).join(", "),
          })}
        </p>
      )}
      <div class="ways">
        {of.guide !== "" && (
          <a class="button" href={of.guide} target="_blank" rel="noreferrer">
            {t("drivers.guide")}
          </a>
        )}
        {of.acknowledgeTime === undefined && may("incidents:acknowledge") && (
          <Button onClick={() => void acknowledge()}>{t("incident.acknowledge")}</Button>
        )}
      </div>
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
    </li>
  );
}

/** Adopts the mounts of a site after a preview. */
function AdoptMounts() {
  const isOpen = useSignal(false);
  if (!may("sites:read")) return null;
  return (
    <>
      <Button
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {t("mounts.adopt")}
      </Button>
      {isOpen.value && (
        <AdoptDialog
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

function AdoptDialog({ onClose }: { readonly onClose: () => void }) {
  const site = useSignal("");
  const results = useSignal<readonly MountResult[] | undefined>(undefined);
  const wrong = useSignal("");
  const busy = useSignal(false);
  const { data: names = [] } = useCall(siteNames, []);
  const act = async (dryRun: boolean): Promise<void> => {
    busy.value = true;
    try {
      results.value = (await mountService.adoptMounts({ site: site.value, dryRun })).results;
      wrong.value = "";
      if (!dryRun) onClose();
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  const found = results.value;
  return (
    <Dialog title={t("mounts.adopt")} onClose={onClose}>
      <p class="quiet">{t("mounts.adoptAbout")}</p>
      <label class="label" for="adopt-site">
        {t("page.sites")}
      </label>
      <select
        id="adopt-site"
        class="input"
        value={site.value}
        onChange={(event) => {
          site.value = event.currentTarget.value;
          results.value = undefined;
        }}
      >
        <option value="">{t("drivers.choose")}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {found?.length === 0 && <p class="quiet">{t("mounts.same")}</p>}
      {found !== undefined && found.length > 0 && <Results results={found} />}
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
      <div class="ways">
        <Button onClick={onClose}>{t("action.cancel")}</Button>
        <Button disabled={busy.value || site.value === ""} onClick={() => void act(true)}>
          {t("mounts.look")}
        </Button>
        {found?.some(({ outcome }) => outcome !== "skipped") && (
          <Button kind="main" disabled={busy.value} onClick={() => void act(false)}>
            {t("mounts.take")}
          </Button>
        )}
      </div>
    </Dialog>
  );
}
