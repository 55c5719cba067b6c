import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type DayStrip, IncidentSubject } from "../../../gen/mooring/v1/incident_pb.js";
import { incidentService } from "../api/incidents.ts";
import { Button } from "../components/button.tsx";
import { Notice, Skeleton } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { Legend, StripList } from "./strip.tsx";

/** Last days of all mounts in the lists of sites, page by page. */
export function AllMountDays() {
  const strips = useSignal<readonly DayStrip[] | undefined>(undefined);
  const next = useSignal("");
  const { problem, run } = useAction();
  const more = () =>
    run(async ({ gone: signal }) => {
      const request = { subject: IncidentSubject.MOUNT, pageToken: next.value };
      const reply = await incidentService.listDays(request, { signal });
      strips.value = [...(strips.value ?? []), ...reply.strips];
      next.value = reply.nextPageToken;
    });
  useEffect(() => void more(), []);
  return (
    <>
      {strips.value === undefined && problem === "" && <Skeleton rows={2} />}
      {strips.value?.length === 0 && <p class="quiet strip-note">{t("days.none")}</p>}
      <StripList strips={strips.value ?? []} />
      {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
      {next.value !== "" && (
        <p class="strip-note">
          <Button onClick={() => void more()}>{t("days.more")}</Button>
        </p>
      )}
      <Legend />
    </>
  );
}
