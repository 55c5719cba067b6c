import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import type { AuditEvent } from "../../../gen/mooring/v1/audit_pb.js";
import { Icon } from "../components/button.tsx";
import { Fact, When } from "../components/text.tsx";
import { dateTime, timeOfDay } from "../i18n/format.ts";
import { t } from "../i18n/language.ts";

/** Maximum number of shown subjects; the others are counted. */
const NAMED = 6;

/** Row of the audit, with all details when opened. */
export function EventItem({ of }: { readonly of: AuditEvent }) {
  const { sequence, time, actor, transport, method, outcome, subjects } = of;
  const at = time ? timestampMs(time) : 0;
  const detail = readDetail(of.detail);
  const { reason, count } = detail;
  const isGood = outcome === "OK";
  const isOpen = useSignal(false);
  return (
    <li>
      <details class="event" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary>
          <span class="nth mono">{String(sequence)}</span>
          <span class="what">
            <span class="action">
              <strong>{method || transport || t("audit.several")}</strong>
              {typeof count === "number" && <span class="quiet">× {count}</span>}
              <span class={`health ${isGood ? "good" : "bad"} small`}>
                <Icon name={isGood ? "done" : "warning"} />
                {outcome}
              </span>
            </span>
            <span class="keys">
              {subjects.slice(0, NAMED).map((subject) => (
                <code key={subject}>{subject}</code>
              ))}
              {subjects.length > NAMED && (
                <span class="quiet">{t("toast.more", { count: subjects.length - NAMED })}</span>
              )}
            </span>
            {typeof reason === "string" && <span class="why">{reason}</span>}
          </span>
          <span class="who quiet small">
            <span>
              {actor === "" ? t("audit.unauthenticated") : t("row.by", { actor })}{" "}
              {transport !== "" && <span class="badge">{transport}</span>}
            </span>
            <span>
              {timeOfDay(at)} · <When time={at} />
            </span>
          </span>
        </summary>
        {isOpen.value && <Facts of={of} detail={detail} />}
      </details>
    </li>
  );
}

/** Time in a detail, as the service writes it (RFC 3339 in UTC). */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;

type Detail = Readonly<Record<string, unknown>>;

function Facts({ of, detail }: { readonly of: AuditEvent; readonly detail: Detail }) {
  return (
    <dl class="facts">
      <Fact name={t("history.time")}>{of.time && dateTime(timestampMs(of.time))}</Fact>
      <Fact name={t("history.peer")}>{of.peer}</Fact>
      <Fact name={t("audit.token")}>{of.tokenId}</Fact>
      <Fact name={t("state.request")}>{of.requestId}</Fact>
      {Object.entries(detail).map(([name, value]) => (
        <Fact key={name} name={name}>
          {textOf(value)}
        </Fact>
      ))}
      <Fact name={t("audit.hash")}>
        <code>{of.hash}</code>
      </Fact>
      <Fact name={t("audit.before")}>
        <code>{of.previousHash}</code>
      </Fact>
    </dl>
  );
}

/** Text of a member of the details. */
function textOf(value: unknown): string {
  if (typeof value === "string") return TIME.test(value) ? dateTime(Date.parse(value)) : value;
  const isList = Array.isArray(value) && value.every((one) => typeof one === "string");
  return isList ? value.join(", ") : JSON.stringify(value);
}

/** Parses the details of a row; text that is not JSON is shown unchanged. */
function readDetail(text: string): Detail {
  try {
    const detail: unknown = JSON.parse(text || "{}");
    return typeof detail === "object" && detail !== null ? { ...detail } : { detail };
  } catch {
    return { detail: text };
  }
}
