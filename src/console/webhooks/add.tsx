import { useSignal } from "@preact/signals";
import type { IncidentClass, Webhook } from "../../../gen/mooring/v1/incident_pb.js";
import { failureOf } from "../api/failure.ts";
import { webhookService } from "../api/webhooks.ts";
import { AddButton, Dialog, FormActions } from "../components/dialog.tsx";
import { Check, Field } from "../components/field.tsx";
import { language, t } from "../i18n/language.ts";
import { CLASSES } from "../mounts/incident-classes.ts";
import type { ChosenSites } from "../mounts/input.ts";
import { SiteChoice } from "../mounts/site-choice.tsx";
import { FIELDS, type FormatChoice, FormatFields, formatInput, NO_FORMAT } from "./format.tsx";

/**
 * Button and dialog for a new webhook.
 *
 * @param props.onAdded called with the key of the signatures, which later replies do not contain.
 */
export function AddWebhook({ onAdded }: { readonly onAdded: (secret: string) => void }) {
  return (
    <AddButton
      label={t("webhooks.add")}
      dialog={(close) => (
        <WebhookDialog
          onClose={close}
          onSaved={(secret) => {
            close();
            onAdded(secret);
          }}
        />
      )}
    />
  );
}

/**
 * Dialog for a new webhook, or for changes of one, whose address no reply contains.
 *
 * @param props.onSaved called with the key of the signatures of a new webhook.
 */
export function WebhookDialog(props: {
  readonly webhook?: Webhook;
  readonly onSaved: (secret: string) => void;
  readonly onClose: () => void;
}) {
  const { webhook, onSaved, onClose } = props;
  const name = useSignal(webhook?.name ?? "");
  const replaces = useSignal(webhook === undefined);
  const target = useSignal<FormatChoice>(NO_FORMAT);
  const known = webhook?.sites ?? [];
  const sites = useSignal<ChosenSites>({ all: known.length === 0, names: new Set(known) });
  const classes = useSignal<ReadonlySet<IncidentClass>>(new Set(webhook?.classes));
  const wrong = useSignal<ReadonlyMap<string, string>>(new Map());
  const failure = useSignal("");
  const busy = useSignal(false);
  const save = async (): Promise<void> => {
    busy.value = true;
    const input = {
      name: name.value.trim(),
      ...(replaces.value && formatInput(target.value)),
      classes: { classes: [...classes.value] },
      sites: { names: [...sites.value.names] },
    };
    try {
      if (webhook === undefined) {
        const created = { ...input, language: language.value };
        onSaved((await webhookService.createWebhook({ webhook: created })).secret);
      } else {
        await webhookService.updateWebhook({ name: webhook.name, webhook: input });
        onSaved("");
      }
    } catch (thrown) {
      const { violations, message } = failureOf(thrown);
      const at = violations.map(
        ({ field, description }) => [field.replace(/^webhook\./, ""), description] as const,
      );
      wrong.value = new Map(at);
      const isShown = at.length > 0 && at.every(([field]) => FIELDS.includes(field));
      failure.value = isShown ? "" : message || t("state.offline");
    } finally {
      busy.value = false;
    }
  };
  const title = webhook ? t("webhook.editTitle", { name: webhook.name }) : t("webhooks.add");
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="block-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy.value) void save();
        }}
      >
        <Field
          label={t("mount.name")}
          hint={t("webhook.nameHint")}
          wrong={wrong.value.get("name")}
          value={name.value}
          onChange={(text) => {
            name.value = text;
          }}
        />
        {webhook !== undefined && (
          <Check
            label={t("webhook.replaceAddress")}
            checked={replaces.value}
            onChange={(checked) => {
              replaces.value = checked;
            }}
          />
        )}
        {replaces.value && (
          <FormatFields
            value={target.value}
            wrong={wrong.value}
            onChange={(choice) => {
              target.value = choice;
            }}
          />
        )}
        <SiteChoice
          value={sites.value}
          all={t("mount.everySite")}
          wrong={wrong.value.get("sites")}
          onChange={(chosen) => {
            sites.value = chosen;
          }}
        />
        <fieldset class="classes">
          <legend class="label">{t("webhook.classes")}</legend>
          {Object.entries(CLASSES).map(([number, key]) => (
            <Check
              key={number}
              label={t(key)}
              checked={classes.value.has(Number(number))}
              onChange={(checked) => {
                const next = new Set(classes.peek());
                if (checked) next.add(Number(number));
                else next.delete(Number(number));
                classes.value = next;
              }}
            />
          ))}
          <p class="quiet small">{t("webhook.classesHint")}</p>
        </fieldset>
        <p class="wrong" role="alert">
          {failure}
        </p>
        <FormActions
          label={webhook ? t("webhook.save") : title}
          busy={busy.value}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  );
}
