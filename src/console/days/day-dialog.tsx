import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Day,
  type DayStrip,
  type Incident,
  IncidentSubject,
} from "../../../gen/mooring/v1/incident_pb.js";
import { allPages } from "../api/all-pages.ts";
import { incidentService } from "../api/incidents.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Failed, Skeleton } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { daysTexts } from "../i18n/en/days.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { dateTime } from "../i18n/format.ts";
import { addMessages, t } from "../i18n/language.ts";
import { dateText, dayText } from "./time.ts";

addMessages(daysTexts, pagesTexts);

/** One day of a site or a mount, with the incidents that were open on it. */
export function DayDialog(props: {
  readonly strip: DayStrip;
  readonly day: Day;
  readonly onClose: () => void;
}) {
  const { site, mountPath } = props.strip;
  const { date, reason } = props.day;
  const subject = mountPath === "" ? IncidentSubject.SITE : IncidentSubject.MOUNT;
  const { data, failure, again } = useCall(
    (signal) =>
      allPages(async (pageToken) => {
        const request = { site, mountPath, subject, date, pageToken };
        const page = await incidentService.listIncidents(request, { signal });
        return [page.incidents, page.nextPageToken];
      }),
    [site, mountPath, date],
  );
  const name = mountPath === "" ? site : `${site} ${mountPath}`;
  return (
    <Dialog title={t("days.title", { name, date: dateText(date) })} onClose={props.onClose}>
      <p>{dayText(props.day)}</p>
      {reason !== "" && (
        <p class="small">
          {t("days.reason")}: <span class="mono">{reason}</span>
        </p>
      )}
      {failure && <Failed failure={failure} retry={again} />}
      {!data && !failure && <Skeleton rows={2} />}
      {data?.length === 0 && <p class="quiet">{t("days.noIncident")}</p>}
      {data !== undefined && data.length > 0 && (
        <ul class="day-incidents">
          {data.map((incident) => (
            <OneIncident key={incident.id} of={incident} />
          ))}
        </ul>
      )}
      <div class="actions">
        <Button onClick={props.onClose}>{t("action.close")}</Button>
      </div>
    </Dialog>
  );
}

function OneIncident({ of }: { readonly of: Incident }) {
  const [from, to] = [of.openTime, of.closeTime].map((time) =>
    time === undefined ? "" : dateTime(timestampMs(time)),
  );
  return (
    <li>
      <p class="small">
        {to === ""
          ? `${t("days.open")} ${from}`
          : t("days.period", { from: from ?? "", to: to ?? "" })}
      </p>
      {of.message !== "" && <p class="mono small">{of.message}</p>}
      {of.closeTime === undefined && <p class="small">{of.action}</p>}
    </li>
  );
}
