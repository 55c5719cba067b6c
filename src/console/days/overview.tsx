import { type DayStrip, IncidentSubject } from "../../../gen/mooring/v1/incident_pb.js";
import { incidentService } from "../api/incidents.ts";
import { connection } from "../api/live.ts";
import { Failed } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import { href } from "../shell/location.ts";
import { Legend, StripList } from "./strip.tsx";
import { failedTime } from "./time.ts";

/** Mounts of the overview. */
const SHOWN = 10;
/** Strips of a request. */
const PAGE = 200;

/** Last days of all sites, and of the mounts that have failed most. */
export function DaysOverview() {
  const { data, failure, again } = useCall(read, [connection.value === "live"]);
  if (failure) return <Failed failure={failure} retry={again} />;
  // Without a site there is nothing to see.
  if (data === undefined || data.sites.length === 0) return null;
  const { sites, mounts } = data;
  const more = mounts.length - SHOWN;
  return (
    <>
      <section class="sheet" aria-labelledby="days-of-sites">
        <h2 class="sheet-title" id="days-of-sites">
          {t("days.sites")}
        </h2>
        <StripList strips={sites} />
        <Legend />
      </section>
      <section class="sheet" aria-labelledby="days-of-mounts">
        <h2 class="sheet-title" id="days-of-mounts">
          {t("days.mounts")}
        </h2>
        {mounts.length === 0 ? (
          <p class="quiet strip-note">{t("days.never")}</p>
        ) : (
          <StripList strips={mounts.slice(0, SHOWN)} />
        )}
        {more > 0 && (
          <p class="strip-note">
            <a href={href("mounts")}>{t("days.moreMounts", { count: more })}</a>
          </p>
        )}
      </section>
    </>
  );
}

async function read(signal: AbortSignal) {
  const [sites, mounts] = await Promise.all([
    allStrips({ subject: IncidentSubject.SITE, failed: false }, signal),
    allStrips({ subject: IncidentSubject.MOUNT, failed: true }, signal),
  ]);
  return { sites, mounts: mounts.toSorted((a, b) => failedTime(b.days) - failedTime(a.days)) };
}

/** Requests of the overview: more than 1,000 strips are not sorted. */
const MAX_PAGES = 5;

async function allStrips(
  filter: { readonly subject: IncidentSubject; readonly failed: boolean },
  signal: AbortSignal,
): Promise<readonly DayStrip[]> {
  const strips: DayStrip[] = [];
  let pageToken = "";
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const reply = await incidentService.listDays(
      { ...filter, pageSize: PAGE, pageToken },
      { signal },
    );
    strips.push(...reply.strips);
    pageToken = reply.nextPageToken;
    if (pageToken === "") break;
  }
  return strips;
}
