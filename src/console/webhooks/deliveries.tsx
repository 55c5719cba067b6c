import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import { type WebhookDelivery, WebhookDeliveryState } from "../../../gen/mooring/v1/incident_pb.js";
import { webhookService } from "../api/webhooks.ts";
import { Button, Icon } from "../components/button.tsx";
import { Failed, Notice, Skeleton } from "../components/state.tsx";
import { When } from "../components/text.tsx";
import { useAction } from "../components/use-action.ts";
import { useCall } from "../components/use-call.ts";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";

const STATES: Partial<Record<WebhookDeliveryState, MessageKey>> = {
  [WebhookDeliveryState.WAITING]: "delivery.waiting",
  [WebhookDeliveryState.DELIVERED]: "delivery.delivered",
  [WebhookDeliveryState.FAILED]: "delivery.failed",
};

/** Number of deliveries that are shown at first, and that each request for older ones adds. */
const PAGE = 50;
/** Number of deliveries of a webhook that the service keeps. */
const MOST = 1_000;

/**
 * Deliveries of a webhook, newest first, each with its body.
 *
 * @param props.reloads a change triggers another read.
 */
export function Deliveries({
  webhook,
  reloads,
}: {
  readonly webhook: string;
  readonly reloads: number;
}) {
  const shown = useSignal(PAGE);
  const { data, failure, again } = useCall(
    (signal) =>
      webhookService.listWebhookDeliveries({ name: webhook, pageSize: shown.value }, { signal }),
    [webhook, reloads, shown.value],
  );
  if (data === undefined) return failure ? <Failed failure={failure} /> : <Skeleton rows={2} />;
  if (data.deliveries.length === 0) return <p class="quiet">{t("delivery.none")}</p>;
  return (
    <>
      <ul class="deliveries">
        {data.deliveries.map((delivery) => (
          <OneDelivery key={delivery.id} delivery={delivery} onSent={again} />
        ))}
      </ul>
      {data.nextPageToken !== "" && shown.value < MOST && (
        <p>
          <Button
            onClick={() => {
              shown.value = Math.min(shown.value + PAGE, MOST);
            }}
          >
            {t("delivery.older")}
          </Button>
        </p>
      )}
    </>
  );
}

function OneDelivery({
  delivery,
  onSent,
}: {
  readonly delivery: WebhookDelivery;
  readonly onSent: () => void;
}) {
  const { id, type, state, attempts, status, error, body, createTime, retryTime } = delivery;
  const { busy, problem, run } = useAction();
  const send = () => run(() => webhookService.resendWebhookDelivery({ id }).then(onSent));
  const isGood = state === WebhookDeliveryState.DELIVERED;
  return (
    <li data-delivery={id}>
      <p class="small">
        <span class={`health ${isGood ? "good" : "bad"}`}>
          <Icon name={isGood ? "done" : "warning"} />
          {t(STATES[state] ?? "delivery.waiting")}
        </span>{" "}
        <code>{type}</code> {createTime && <When time={timestampMs(createTime)} />}
        <span class="quiet">
          {t("delivery.attempts", { count: attempts })}
          {status > 0 && error === "" && ` · HTTP ${status}`}
          {retryTime && (
            <>
              {" · "}
              {t("delivery.next")} <When time={timestampMs(retryTime)} ahead />
            </>
          )}
        </span>
      </p>
      {error !== "" && <p class="wrong small">{error}</p>}
      <details>
        <summary class="small">{t("delivery.body")}</summary>
        <pre class="mono small">{body}</pre>
      </details>
      <Button disabled={busy} onClick={() => void send()}>
        {t("delivery.resend")}
      </Button>
      {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
    </li>
  );
}
