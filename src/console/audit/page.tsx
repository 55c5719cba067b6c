import { toJsonString } from "@bufbuild/protobuf";
import { timestampFromDate, timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import {
  type AuditCheckpoint,
  type AuditEvent,
  AuditEventSchema,
} from "../../../gen/mooring/v1/audit_pb.js";
import {
  type AuditFilter,
  type AuditRows,
  auditService,
  followAudit,
  readOlder,
} from "../api/audit.ts";
import type { Failure } from "../api/failure.ts";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { dayOf, Filters } from "../components/filters.tsx";
import { saveFile } from "../components/save-file.ts";
import { Empty, Failed, Skeleton } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { useFollow } from "../components/use-call.ts";
import { auditTexts } from "../i18n/en/audit.ts";
import { historyTexts } from "../i18n/en/history.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { day } from "../i18n/format.ts";
import { addMessages, t } from "../i18n/language.ts";
import { place } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { say } from "../shell/toast.tsx";
import { EventItem } from "./event-item.tsx";
import { Verification } from "./verification.tsx";
import "./audit.css";

addMessages(auditTexts, historyTexts, pagesTexts);

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

/** Live list of actions and refusals, newest first, filtered by the address. */
export default function AuditPage() {
  const { query } = place.value;
  const rows = useSignal<AuditRows | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const filter = filterOf(query);
  const name = `${query}`;
  const shownFor = useSignal(name);
  const reloads = useSignal(0);
  useFollow(
    (signal) => {
      // Rows of another filter must not be shown.
      if (shownFor.peek() !== name) rows.value = undefined;
      shownFor.value = name;
      return followAudit(filter, rows, failure, signal);
    },
    [name, reloads.value],
  );
  const reading = useAction();
  const older = () =>
    reading.run(
      () => readOlder(filter, rows),
      (found) => {
        failure.value = found;
      },
    );
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
      {failure.value && <Failed failure={failure.value} retry={() => (reloads.value += 1)} />}
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
          <Button onClick={() => void older()}>{t("history.older")}</Button>
        </p>
      )}
      {known && known.next === "" && known.oldest > 1n && (
        <p class="older quiet small">{t("audit.oldest", { sequence: String(known.oldest) })}</p>
      )}
      {known?.checkpoint && <Checkpoint of={known.checkpoint} />}
    </>
  );
}

/** Filter of a query. Days are in the time zone of the browser. */
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

/**
 * Current checkpoint. Stored elsewhere, it reveals later whether a row was changed or is missing.
 */
function Checkpoint({ of }: { readonly of: AuditCheckpoint }) {
  return (
    <section class="sheet block checkpoint" aria-labelledby="checkpoint">
      <div>
        <h2 id="checkpoint">{t("audit.checkpoint")}</h2>
        <p class="quiet">{t("audit.checkpointAbout")}</p>
      </div>
      <pre class="mono">{of.text.trim()}</pre>
      <p class="ways">
        <CopyButton text={of.text} />
      </p>
      <Verification origin={of.origin} />
    </section>
  );
}

const PAGE = 1_000;
/** Maximum number of rows of a file, which is assembled in the browser's memory. */
const MOST = 100_000;

/** Downloads the matching rows, one JSON object per line, newest first. */
function Download({ filter }: { readonly filter: AuditFilter }) {
  const { busy, run } = useAction();
  const download = () =>
    run(
      async () => {
        const lines = await readLines(filter);
        const today = new Date().toISOString().slice(0, 10);
        saveFile(`mooring-audit-${today}.jsonl`, lines.join(""));
        if (lines.length >= MOST) say(t("audit.cut", { count: MOST }));
      },
      (_, problem) => say(problem),
    );
  return (
    <Button icon="backup" disabled={busy} onClick={() => void download()}>
      {t("audit.download")}
    </Button>
  );
}

async function readLines(filter: AuditFilter): Promise<string[]> {
  const lines: string[] = [];
  let pageToken = "";
  do {
    const page = await auditService.listAuditEvents({ ...filter, pageSize: PAGE, pageToken });
    for (const event of page.events)
      lines.push(`${toJsonString(AuditEventSchema, event, { useProtoFieldName: true })}\n`);
    pageToken = page.nextPageToken;
  } while (pageToken !== "" && lines.length < MOST);
  return lines.slice(0, MOST);
}
