import { timestampMs } from "@bufbuild/protobuf/wkt";
import { useSignal } from "@preact/signals";
import {
  type Webhook,
  type WebhookDelivery,
  WebhookDeliveryState,
} from "../../../gen/mooring/v1/incident_pb.js";
import { problemOf } from "../api/failure.ts";
import { webhookService } from "../api/webhooks.ts";
import { Button, Icon } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { Empty, Failed, Notice, Skeleton } from "../components/state.tsx";
import { When } from "../components/text.tsx";
import { useCall } from "../components/use-call.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { webhooksTexts } from "../i18n/en/webhooks.ts";
import { addMessages, t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { CLASSES } from "../mounts/incident-classes.ts";
import { PageHead } from "../shell/page-head.tsx";
import { AddWebhook, WebhookDialog } from "./add.tsx";
import { formatName } from "./format.tsx";
import "./webhooks.css";

addMessages(pagesTexts, webhooksTexts);

async function listWebhooks(signal: AbortSignal): Promise<readonly Webhook[]> {
  return (await webhookService.listWebhooks({}, { signal })).webhooks;
}

/** Webhooks for incidents: list, creation, test, deliveries and resending. */
export default function WebhooksPage() {
  const { data, failure, again } = useCall(listWebhooks, []);
  const secret = useSignal("");
  if (data === undefined)
    return (
      <>
        <PageHead title={t("page.webhooks")} />
        {failure ? <Failed failure={failure} /> : <Skeleton rows={3} />}
      </>
    );
  return (
    <>
      <PageHead title={t("page.webhooks")}>
        <AddWebhook
          onAdded={(key) => {
            secret.value = key;
            again();
          }}
        />
      </PageHead>
      <p class="behaviour quiet">{t("webhooks.about")}</p>
      {secret.value !== "" && (
        <section class="sheet block" aria-label={t("webhook.key")}>
          <Notice kind="warning">{t("webhook.once")}</Notice>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text is selected and copied by keyboard. */}
          <p class="input mono made" tabIndex={0} data-secret>
            {secret}
          </p>
          <CopyButton text={secret.value} />
        </section>
      )}
      {data.length === 0 ? (
        <Empty icon="webhooks" title={t("webhooks.none")}>
          <p class="quiet">{t("webhooks.noneAbout")}</p>
        </Empty>
      ) : (
        <ul class="sheet webhooks">
          {data.map((webhook) => (
            <OneWebhook key={webhook.name} webhook={webhook} onChange={again} />
          ))}
        </ul>
      )}
    </>
  );
}

function OneWebhook({
  webhook,
  onChange,
}: {
  readonly webhook: Webhook;
  readonly onChange: () => void;
}) {
  const { name, format, target, classes, sites, disabled } = webhook;
  const isAsked = useSignal(false);
  const isEdited = useSignal(false);
  const isOpen = useSignal(false);
  const busy = useSignal(false);
  const wrong = useSignal("");
  /** Number of deliveries caused by this page; each one reloads the list. */
  const turn = useSignal(0);
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    busy.value = true;
    try {
      await work();
      wrong.value = "";
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    } finally {
      busy.value = false;
    }
  };
  const test = () =>
    act(async () => {
      isOpen.value = true;
      await webhookService.testWebhook({ name });
      turn.value += 1;
    });
  const setDisabled = () =>
    act(async () => {
      await webhookService.updateWebhook({ name, webhook: { disabled: !disabled } });
      onChange();
    });
  const scope = [
    classes.length === 0
      ? t("webhook.allClasses")
      : classes.map((each) => t(CLASSES[each] ?? "incident.unknown")).join(", "),
    sites.length === 0 ? t("mount.allSites") : sites.join(", "),
  ];
  return (
    <li data-webhook={name}>
      <div class="webhook-line">
        <div>
          <strong>{name}</strong> {disabled && <span class="badge">{t("mount.disabled")}</span>}
          <p class="quiet small">
            {formatName(format)} · <code>{target}</code> · {scope.join(" · ")}
          </p>
        </div>
        <div class="ways">
          <Button disabled={busy.value} onClick={() => void test()}>
            {t("webhook.test")}
          </Button>
          <Button
            onClick={() => {
              isOpen.value = !isOpen.peek();
            }}
          >
            {t("webhook.deliveries")}
          </Button>
          <Button disabled={busy.value} onClick={() => void setDisabled()}>
            {t(disabled ? "webhook.enable" : "webhook.disable")}
          </Button>
          <Button
            onClick={() => {
              isEdited.value = true;
            }}
          >
            {t("webhook.edit")}
          </Button>
          <Button
            onClick={() => {
              isAsked.value = true;
            }}
          >
            {t("mount.delete")}
          </Button>
        </div>
      </div>
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
      {isOpen.value && <Deliveries webhook={name} turn={turn.value} />}
      {isEdited.value && (
        <WebhookDialog
          webhook={webhook}
          onClose={() => {
            isEdited.value = false;
          }}
          onSaved={() => {
            isEdited.value = false;
            onChange();
          }}
        />
      )}
      {isAsked.value && (
        <Confirm
          title={t("webhook.delete", { name })}
          action={t("mount.deleteNow")}
          onAction={() => webhookService.deleteWebhook({ name }).then(onChange)}
          onClose={() => {
            isAsked.value = false;
          }}
        >
          {t("webhook.deleteQuestion")}
        </Confirm>
      )}
    </li>
  );
}

const STATES: Partial<Record<WebhookDeliveryState, MessageKey>> = {
  [WebhookDeliveryState.WAITING]: "delivery.waiting",
  [WebhookDeliveryState.DELIVERED]: "delivery.delivered",
  [WebhookDeliveryState.FAILED]: "delivery.failed",
};

/**
 * The newest deliveries of a webhook, each with its body.
 *
 * @param props.turn a change triggers another read.
 */
function Deliveries({ webhook, turn }: { readonly webhook: string; readonly turn: number }) {
  const { data, failure, again } = useCall(
    (signal) => webhookService.listWebhookDeliveries({ name: webhook }, { signal }),
    [webhook, turn],
  );
  if (data === undefined) return failure ? <Failed failure={failure} /> : <Skeleton rows={2} />;
  if (data.deliveries.length === 0) return <p class="quiet">{t("delivery.none")}</p>;
  return (
    <ul class="deliveries">
      {data.deliveries.map((delivery) => (
        <OneDelivery key={delivery.id} delivery={delivery} onSent={again} />
      ))}
    </ul>
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
  const busy = useSignal(false);
  const wrong = useSignal("");
  const send = async (): Promise<void> => {
    busy.value = true;
    try {
      await webhookService.resendWebhookDelivery({ id });
      wrong.value = "";
      onSent();
    } catch (thrown) {
      wrong.value = problemOf(thrown);
    } finally {
      busy.value = false;
    }
  };
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
          {" · "}
          {t("delivery.attempts", { count: attempts })}
          {status > 0 && ` · HTTP ${status}`}
          {retryTime && (
            <>
              {" · "}
              {t("delivery.next")} <When time={timestampMs(retryTime)} />
            </>
          )}
        </span>
      </p>
      {error !== "" && <p class="wrong small">{error}</p>}
      <details>
        <summary class="small">{t("delivery.body")}</summary>
        <pre class="mono small">{body}</pre>
      </details>
      <Button disabled={busy.value} onClick={() => void send()}>
        {t("delivery.resend")}
      </Button>
      {wrong.value !== "" && <Notice kind="wrong">{wrong.value}</Notice>}
    </li>
  );
}
