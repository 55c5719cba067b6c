import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type DayStrip, IncidentSubject } from "../../../gen/mooring/v1/incident_pb.js";
import { problemOf } from "../api/failure.ts";
import { incidentService } from "../api/incidents.ts";
import { Button } from "../components/button.tsx";
import { Notice, Skeleton } from "../components/state.tsx";
import { t } from "../i18n/language.ts";
import { Legend, StripList } from "./strip.tsx";

/** Last days of all mounts in the lists of sites, page by page. */
export function AllMountDays() {
  const strips = useSignal<readonly DayStrip[] | undefined>(undefined);
  const next = useSignal("");
  const wrong = useSignal("");
  const more = async (): Promise<void> => {
    try {
      const reply = await incidentService.listDays({
        subject: IncidentSubject.MOUNT,
        pageToken: next.value,
      });
      strips.value = [...(strips.value ?? []), ...reply.strips];
      next.value = reply.nextPageToken;
      wrong.value = "";
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    }
  };
  useEffect(() => void more(), []);
  return (
    <>
      {strips.value === undefined && wrong.value === "" && <Skeleton rows={2} />}
      {strips.value?.length === 0 && <p class="quiet strip-note">{t("days.none")}</p>}
      <StripList strips={strips.value ?? []} />
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
      {next.value !== "" && (
        <p class="strip-note">
          <Button onClick={() => void more()}>{t("days.more")}</Button>
        </p>
      )}
      <Legend />
    </>
  );
}
