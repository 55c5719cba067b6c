import type { Webhook } from "../../../gen/mooring/v1/incident_pb.js";
import { webhookService } from "../api/webhooks.ts";
import { useKeptDraft } from "../components/kept-draft.tsx";
import { useAction } from "../components/use-action.ts";
import { t } from "../i18n/language.ts";
import { useNewerState } from "../records/outdated.tsx";
import { RecordDialog } from "../records/record-dialog.tsx";
import { FIELDS, WebhookFields } from "./fields.tsx";
import { changesOf, draftOf, inputOf, readDraft, rebased, writeDraft } from "./input.ts";

/**
 * Dialog for a new webhook, or for changes of one, whose address no reply contains.
 *
 * @param props.onStale called when another client has changed the webhook.
 * @param props.onSaved called with the key of the signatures of a new webhook.
 */
export function WebhookDialog(props: {
  readonly webhook?: Webhook;
  readonly onStale: () => void;
  readonly onSaved: (secret: string) => void;
  readonly onClose: () => void;
}) {
  const { webhook, onStale, onSaved, onClose } = props;
  const kept = useKeptDraft({
    name: webhook ? `webhook:${webhook.name}` : "webhook-new",
    initial: () => draftOf(webhook),
    changes: changesOf,
    write: writeDraft,
    read: readDraft,
  });
  const { draft } = kept;
  const newer = useNewerState(webhook, kept, { draftOf, rebased, changes: changesOf });
  const { busy, failure, run } = useAction();
  const save = () =>
    run(
      async ({ gone }) => {
        const { base } = draft.value;
        const input = inputOf(draft.value);
        let secret = "";
        if (base === undefined)
          ({ secret } = await webhookService.createWebhook({ webhook: input }));
        else
          await webhookService.updateWebhook({
            name: base.name,
            webhook: input,
            expectedEtag: base.etag,
          });
        kept.forget();
        onSaved(secret);
        if (!gone.aborted) onClose();
      },
      ({ kind }) => {
        if (kind === "conflict") onStale();
      },
    );
  const problems = (failure?.violations ?? []).map(
    ({ field, description }) => [field.replace(/^webhook\./, ""), description] as const,
  );
  const rest = problems.filter(([field]) => !FIELDS.includes(field));
  const title = webhook ? t("webhook.editTitle", { name: webhook.name }) : t("webhooks.add");
  return (
    <RecordDialog
      title={title}
      kept={kept}
      newer={newer}
      busy={busy}
      label={webhook ? t("webhook.save") : title}
      onSave={() => void save()}
      onClose={onClose}
    >
      <WebhookFields
        draft={draft.value}
        wrong={new Map(problems)}
        set={(change) => {
          const { base, texts } = draft.peek();
          draft.value = { base, texts: { ...texts, ...change } };
        }}
      />
      <p class="wrong" role="alert">
        {rest.map(([, description]) => description).join(" ")}
        {failure && problems.length === 0 && (failure.message || t("state.offline"))}
      </p>
    </RecordDialog>
  );
}
