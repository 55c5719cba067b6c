import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Day, DayStrip } from "../../../gen/mooring/v1/incident_pb.js";
import { incidentService } from "../api/incidents.ts";
import { Failed } from "../components/state.tsx";
import { useCall } from "../components/use-call.ts";
import { daysTexts } from "../i18n/en/days.ts";
import { addMessages, t } from "../i18n/language.ts";
import { dateText, dayText, durationText, failedTime } from "./time.ts";
import "./days.css";

addMessages(daysTexts);

/** Last days of a site or a mount: a bar a day, which opens the incidents of the day. */
export function Strip({ of }: { readonly of: DayStrip }) {
  const opened = useSignal<Day | undefined>(undefined);
  /** The day that the tabulator reaches; the arrow keys move it. */
  const current = useSignal(of.days.length - 1);
  const group = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const last = of.days.length - 1;
    const next = {
      ArrowLeft: current.value - 1,
      ArrowRight: current.value + 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    current.value = Math.min(Math.max(next, 0), last);
    group.current?.querySelectorAll("button")[current.value]?.focus();
  };
  const name = of.mountPath === "" ? of.site : `${of.site} ${of.mountPath}`;
  return (
    <>
      <div
        class="strip"
        role="toolbar"
        aria-label={t("days.strip", { name })}
        ref={group}
        onKeyDown={move}
      >
        {of.days.map((day, at) => (
          <DayButton
            key={day.date}
            of={day}
            isReached={at === current.value}
            onOpen={() => {
              current.value = at;
              opened.value = day;
            }}
          />
        ))}
      </div>
      {opened.value !== undefined && (
        <OpenedDay
          strip={of}
          day={opened.value}
          onClose={() => {
            opened.value = undefined;
          }}
        />
      )}
    </>
  );
}

/** Dialog of a day. Its code is loaded when a day is opened first. */
function OpenedDay(props: {
  readonly strip: DayStrip;
  readonly day: Day;
  readonly onClose: () => void;
}) {
  const { data, failure, again } = useCall(() => import("./day-dialog.tsx"), []);
  if (failure) return <Failed failure={failure} retry={again} />;
  return data === undefined ? null : <data.DayDialog {...props} />;
}

function DayButton(props: {
  readonly of: Day;
  readonly isReached: boolean;
  readonly onOpen: () => void;
}) {
  const { workedSeconds, failedSeconds, unmonitoredSeconds, reason, date } = props.of;
  const text = [`${dateText(date)}: ${dayText(props.of)}`, reason].filter(Boolean).join("\n");
  return (
    <button
      type="button"
      class="day"
      title={text}
      aria-label={text}
      tabIndex={props.isReached ? 0 : -1}
      onClick={props.onOpen}
    >
      <span style={{ flexGrow: unmonitoredSeconds }} />
      <span class={workedSeconds > 0 ? "worked" : ""} style={{ flexGrow: workedSeconds }} />
      <span class={failedSeconds > 0 ? "failed" : ""} style={{ flexGrow: failedSeconds }} />
    </button>
  );
}

/** Strips with their names and the time of failures. */
export function StripList({ strips }: { readonly strips: readonly DayStrip[] }) {
  return (
    <ul class="strips">
      {strips.map((strip) => (
        <li key={`${strip.site} ${strip.mountPath}`}>
          <p>
            <strong>{strip.site}</strong> {strip.mountPath !== "" && <code>{strip.mountPath}</code>}{" "}
            <FailedTime days={strip.days} />
          </p>
          <Strip of={strip} />
        </li>
      ))}
    </ul>
  );
}

function FailedTime({ days }: { readonly days: readonly Day[] }) {
  const failed = failedTime(days);
  return (
    <span class={failed > 0 ? "small" : "quiet small"}>
      {failed > 0 ? t("days.sum", { time: durationText(failed) }) : t("days.total")}
    </span>
  );
}

/** Meaning of the bars. */
export function Legend() {
  return (
    <p class="quiet small strip-legend">
      <span class="worked" /> {t("days.worked")} <span class="failed" /> {t("days.failed")}{" "}
      <span class="unmonitored" /> {t("days.unmonitored")} · {t("days.about")}
    </p>
  );
}

/** Last days of one site, or of one mount on it. */
export function OneStrip(props: { readonly site: string; readonly mountPath: string }) {
  const { site, mountPath } = props;
  const { data } = useCall(
    async (signal) =>
      (await incidentService.listDays({ site, mountPath, pageSize: 1 }, { signal })).strips[0],
    [site, mountPath],
  );
  return data === undefined ? null : (
    <div class="one-strip">
      <Strip of={data} />
      <Legend />
    </div>
  );
}
