import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { Incident } from "../../../gen/mooring/v1/incident_pb.js";
import type { Mount } from "../../../gen/mooring/v1/mount_pb.js";
import { followIncidents, incidentService, incidents } from "../api/incidents.ts";
import { followMounts, mounts, mountsFailure } from "../api/mounts.ts";
import { may } from "../api/rights.ts";
import { Filters } from "../components/filters.tsx";
import { lazy } from "../components/lazy.tsx";
import { Empty } from "../components/state.tsx";
import { When } from "../components/text.tsx";
import { useCall, useFollow } from "../components/use-call.ts";
import { mountsTexts } from "../i18n/en/mounts.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { addMessages, t } from "../i18n/language.ts";
import { href, place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { WaitingPage } from "../shell/waiting-page.tsx";
import { Acknowledge } from "./acknowledge.tsx";
import { AdoptMounts } from "./adopt.tsx";
import { ExportRows } from "./export-rows.tsx";
import { CLASSES } from "./incident-classes.ts";
import { MountList } from "./list.tsx";
import { TestMounts } from "./test-mounts.tsx";
import "./mounts.css";

addMessages(mountsTexts, pagesTexts, recordsTexts);

/** Mounts of sites, with their status on each site and open incidents. */
export default function MountsPage() {
  useFollow(followMounts, []);
  useFollow(followIncidents, []);
  const known = mounts.value;
  if (known === undefined)
    return <WaitingPage title={t("page.mounts")} failure={mountsFailure.value} />;
  return (
    <>
      <PageHead title={t("page.mounts")}>
        <div class="ways">
          {may("mounts:write", "sites:read") && <AdoptMounts />}
          {known.size > 0 && <ExportRows names={[]} />}
          {may("backup:import") && (
            <a class="button" href={href("backup")}>
              {t("mounts.import")}
            </a>
          )}
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
        <ShownMounts mounts={[...known.values()]} />
      )}
      {may("incidents:read") && <MountDays />}
    </>
  );
}

const AllMountDays = lazy(async () => (await import("../days/all-mounts.tsx")).AllMountDays);

/** Last days of all mounts, read when they are opened. */
function MountDays() {
  const isOpen = useSignal(false);
  return (
    <details
      class="sheet"
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary class="sheet-title">{t("mounts.days")}</summary>
      {isOpen.value && <AllMountDays />}
    </details>
  );
}

/** Mounts that match the filters of the address, with a test of all of them. */
function ShownMounts({ mounts }: { readonly mounts: readonly Mount[] }) {
  const { query } = place.value;
  const site = query.get("site") ?? "";
  const text = (query.get("q") ?? "").toLowerCase();
  const shown = mounts.filter(
    (mount) =>
      (site === "" || mount.status.some((status) => status.site === site)) &&
      [mount.name, mount.mountPath, mount.driver].join("\n").toLowerCase().includes(text),
  );
  const sites = [...new Set(mounts.flatMap(({ status }) => status.map((each) => each.site)))];
  return (
    <>
      <Filters
        hasDays={false}
        fields={[
          { name: "q", label: t("mounts.search") },
          { name: "site", label: t("mount.site"), choices: [t("mount.anySite"), ...sites.sort()] },
        ]}
      />
      {may("mounts:write") && shown.length > 0 && <TestMounts mounts={shown} site={site} />}
      {shown.length === 0 ? (
        <Empty icon="mounts" title={t("mounts.noneFound")} />
      ) : (
        <MountList mounts={shown} />
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
  const word = CLASSES[of.class];
  return (
    <li>
      <p>
        <strong>
          {of.mountPath === "" ? (
            of.title || of.name || of.site
          ) : (
            <>
              {of.site} <code>{of.mountPath}</code>
            </>
          )}
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
      {of.note !== "" && (
        <p class="quiet">
          {t("incident.note")}: {of.note}
        </p>
      )}
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
          <Acknowledge id={of.id} />
        )}
      </div>
    </li>
  );
}
