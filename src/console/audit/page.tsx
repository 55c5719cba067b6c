import "../i18n/later.ts";
import { timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { AuditEvent } from "../../../gen/mooring/v1/audit_pb.js";
import { type AuditFilter, type AuditRows, followAudit, readOlder } from "../api/audit.ts";
import { type Failure, failureOf } from "../api/failure.ts";
import { Button } from "../components/button.tsx";
import { dayOf, Filters } from "../components/filters.tsx";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useFollow } from "../components/use-follow.ts";
import { day } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";
import { place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { Checkpoint } from "./checkpoint.tsx";
import { Download } from "./download.tsx";
import { EventItem } from "./event-item.tsx";
import "./audit.css";

const OUTCOMES = [
  "OK",
  "PERMISSION_DENIED",
  "UNAUTHENTICATED",
  "INVALID_ARGUMENT",
  "FAILED_PRECONDITION",
  "ABORTED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "RESOURCE_EXHAUSTED",
  "UNAVAILABLE",
];

/** Actions and refusals, newest first, filtered by the address; live. */
export default function AuditPage() {
  const { query } = place.value;
  const rows = useSignal<AuditRows | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const filter = filterOf(query);
  const name = `${query}`;
  const shownFor = useSignal(name);
  const turn = useSignal(0);
  useFollow(
    (signal) => {
      // Rows of other filters are none of these.
      if (shownFor.peek() !== name) rows.value = undefined;
      shownFor.value = name;
      return followAudit(filter, rows, failure, signal);
    },
    [name, turn.value],
  );
  const older = (): void => {
    readOlder(filter, rows).catch((thrown: unknown) => {
      failure.value = failureOf(thrown);
    });
  };
  const known = rows.value;
  return (
    <>
      <PageHead title={t("page.audit")}>
        <Download filter={filter} />
      </PageHead>
      <Filters
        fields={[
          { name: "actor", label: t("history.actor") },
          { name: "method", label: t("audit.method"), options: methodsOf(known?.events) },
          { name: "subject", label: t("audit.subject") },
          {
            name: "outcome",
            label: t("audit.outcome"),
            choices: [t("audit.anyOutcome"), ...OUTCOMES],
          },
        ]}
        also={["token"]}
      />
      {failure.value && <Failed failure={failure.value} retry={() => (turn.value += 1)} />}
      {known === undefined && !failure.value && <Skeleton />}
      {known?.events.length === 0 && known.next === "" && (
        <Empty icon="audit" title={t("audit.none")} />
      )}
      {[...byDay(known?.events ?? [])].map(([title, list]) => (
        <section key={title} class="sheet" aria-label={title}>
          <h2 class="sheet-title">{title}</h2>
          <ul>
            {list.map((event) => (
              <EventItem key={String(event.sequence)} of={event} />
            ))}
          </ul>
        </section>
      ))}
      {known && known.next !== "" && (
        <p class="older">
          <Button onClick={older}>{t("history.older")}</Button>
        </p>
      )}
      {known && known.next === "" && known.oldest > 1n && (
        <p class="older quiet small">{t("audit.oldest", { sequence: String(known.oldest) })}</p>
      )}
      {known?.checkpoint && <Checkpoint of={known.checkpoint} />}
    </>
  );
}

/** Days are those of the person who looks. */
function filterOf(query: URLSearchParams): AuditFilter {
  const one = (name: string): string[] => [query.get(name) ?? ""].filter(Boolean);
  const since = dayOf(query.get("since"));
  const until = dayOf(query.get("until"));
  if (until) until.setDate(until.getDate() + 1);
  return {
    actor: query.get("actor") ?? "",
    tokenId: query.get("token") ?? "",
    subject: query.get("subject") ?? "",
    methods: one("method"),
    outcomes: one("outcome"),
    ...(since && { since: timestampFromDate(since) }),
    ...(until && { until: timestampFromDate(until) }),
  };
}

function methodsOf(events: readonly AuditEvent[] = []): string[] {
  return [...new Set(events.map(({ method }) => method))].filter(Boolean).sort();
}

function byDay(events: readonly AuditEvent[]): Map<string, AuditEvent[]> {
  return Map.groupBy(events, ({ time }) => (time ? day(timestampMs(time)) : ""));
}
