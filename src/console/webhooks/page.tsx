import { useSignal } from "@preact/signals";
import type { Webhook } from "../../../gen/mooring/v1/incident_pb.js";
import { webhookService } from "../api/webhooks.ts";
import { Button } from "../components/button.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Confirm } from "../components/dialog.tsx";
import { lazy } from "../components/lazy.tsx";
import { Empty, Notice } from "../components/state.tsx";
import { useAction } from "../components/use-action.ts";
import { useCall } from "../components/use-call.ts";
import { pagesTexts } from "../i18n/en/pages.ts";
import { recordsTexts } from "../i18n/en/records.ts";
import { webhooksTexts } from "../i18n/en/webhooks.ts";
import { addMessages, t } from "../i18n/language.ts";
import { CLASSES } from "../mounts/incident-classes.ts";
import { place, refine } from "../shell/location.ts";
import { PageHead } from "../shell/page-head.tsx";
import { WaitingPage } from "../shell/waiting-page.tsx";
import { Deliveries } from "./deliveries.tsx";
import { formatName } from "./fields.tsx";
import "./webhooks.css";

addMessages(pagesTexts, recordsTexts, webhooksTexts);

const WebhookDialog = lazy(() =>
  import("./webhook-dialog.tsx").then((module) => module.WebhookDialog),
);

async function listWebhooks(signal: AbortSignal): Promise<readonly Webhook[]> {
  return (await webhookService.listWebhooks({}, { signal })).webhooks;
}

/** Webhooks for incidents: list, creation, test, deliveries and resending. */
export default function WebhooksPage() {
  const { data, failure, again } = useCall(listWebhooks, []);
  const secret = useSignal("");
  // The open dialog is in the address, so that a reload opens it again.
  const { query } = place.value;
  const edited = data?.find(({ name }) => name === query.get("edit"));
  const close = (): void => refine({ new: undefined, edit: undefined });
  if (data === undefined) return <WaitingPage title={t("page.webhooks")} failure={failure} />;
  return (
    <>
      <PageHead title={t("page.webhooks")}>
        <Button icon="add" onClick={() => refine({ new: "1" })}>
          {t("webhooks.add")}
        </Button>
      </PageHead>
      <p class="behaviour quiet">{t("webhooks.about")}</p>
      {secret.value !== "" && (
        <section class="sheet block" aria-label={t("webhook.key")}>
          <Notice kind="warning">{t("webhook.once")}</Notice>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the text is selected and copied by keyboard. */}
          <p class="input mono made" tabIndex={0} data-secret>
            {secret}
          </p>
          <div class="ways">
            <CopyButton text={secret.value} />
          </div>
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
      {(query.has("new") || edited !== undefined) && (
        <WebhookDialog
          key={edited?.name ?? ""}
          {...(edited && { webhook: edited })}
          onStale={again}
          onClose={close}
          onSaved={(key) => {
            secret.value = key;
            again();
          }}
        />
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
  const isDialogOpen = useSignal(false);
  const isOpen = useSignal(false);
  const { busy, problem, run } = useAction();
  /** Number of deliveries caused by this page; each one reloads the list. */
  const reloads = useSignal(0);
  const test = () =>
    run(async () => {
      isOpen.value = true;
      await webhookService.testWebhook({ name });
      reloads.value += 1;
    });
  const setDisabled = () =>
    run(async () => {
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
          <Button disabled={busy} onClick={() => void test()}>
            {t("webhook.test")}
          </Button>
          <Button
            onClick={() => {
              isOpen.value = !isOpen.peek();
            }}
          >
            {t("webhook.deliveries")}
          </Button>
          <Button disabled={busy} onClick={() => void setDisabled()}>
            {t(disabled ? "webhook.enable" : "webhook.disable")}
          </Button>
          <Button onClick={() => refine({ edit: name })}>{t("webhook.edit")}</Button>
          <Button
            onClick={() => {
              isDialogOpen.value = true;
            }}
          >
            {t("mount.delete")}
          </Button>
        </div>
      </div>
      {problem !== "" && <Notice kind="wrong">{problem}</Notice>}
      {isOpen.value && <Deliveries webhook={name} reloads={reloads.value} />}
      {isDialogOpen.value && (
        <Confirm
          title={t("webhook.delete", { name })}
          action={t("mount.deleteNow")}
          onAction={() => webhookService.deleteWebhook({ name }).then(onChange)}
          onClose={() => {
            isDialogOpen.value = false;
          }}
        >
          {t("webhook.deleteQuestion")}
        </Confirm>
      )}
    </li>
  );
}
