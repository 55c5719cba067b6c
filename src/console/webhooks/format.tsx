import { WebhookFormat } from "../../../gen/mooring/v1/incident_pb.js";
import { Field } from "../components/field.tsx";
import { t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";

/** Format of a new webhook with its values. */
export interface FormatChoice {
  readonly format: WebhookFormat;
  readonly url: string;
  readonly token: string;
  readonly chat: string;
  readonly template: string;
  readonly contentType: string;
}

export const NO_FORMAT: FormatChoice = {
  format: WebhookFormat.STANDARD,
  url: "",
  token: "",
  chat: "",
  template: "",
  contentType: "",
};

type Member = Exclude<keyof FormatChoice, "format">;

/** Members of the form at which a problem is shown, by their names in the contract. */
export const FIELDS = ["name", "url", "token", "chat", "template", "template.content_type"];

/** Names of the formats as their users know them. */
const NAMES: Partial<Record<WebhookFormat, string>> = {
  [WebhookFormat.STANDARD]: "Standard Webhooks",
  [WebhookFormat.NTFY]: "ntfy",
  [WebhookFormat.TELEGRAM]: "Telegram",
  [WebhookFormat.DISCORD]: "Discord",
  [WebhookFormat.SLACK]: "Slack, Mattermost",
  [WebhookFormat.BARK]: "Bark",
};

export function formatName(format: WebhookFormat): string {
  return NAMES[format] ?? t("webhook.template");
}

/** Members that each format shows, with their hints. */
const MEMBERS: Partial<Record<WebhookFormat, Partial<Record<Member, MessageKey>>>> = {
  [WebhookFormat.STANDARD]: { url: "webhook.urlHint" },
  [WebhookFormat.NTFY]: { url: "webhook.ntfyHint", token: "webhook.ntfyTokenHint" },
  [WebhookFormat.TELEGRAM]: { token: "webhook.botHint", chat: "webhook.chatHint" },
  [WebhookFormat.DISCORD]: { url: "webhook.discordHint" },
  [WebhookFormat.SLACK]: { url: "webhook.slackHint" },
  [WebhookFormat.BARK]: { token: "webhook.barkHint", url: "webhook.barkUrlHint" },
  [WebhookFormat.TEMPLATE]: {
    url: "webhook.urlHint",
    template: "webhook.templateHint",
    contentType: "webhook.contentTypeHint",
  },
};

const LABELS: Readonly<Record<Member, MessageKey>> = {
  url: "webhook.url",
  token: "webhook.token",
  chat: "webhook.chat",
  template: "webhook.template",
  contentType: "webhook.contentType",
};

/** Choice of the format, and fields for its values. */
export function FormatFields({
  value,
  wrong,
  onChange,
}: {
  readonly value: FormatChoice;
  readonly wrong: ReadonlyMap<string, string>;
  readonly onChange: (value: FormatChoice) => void;
}) {
  const members = Object.entries(MEMBERS[value.format] ?? {}) as [Member, MessageKey][];
  return (
    <>
      <div>
        <label class="label" for="webhook-format">
          {t("webhook.format")}
        </label>
        <select
          id="webhook-format"
          class="input"
          value={String(value.format)}
          onChange={(event) => onChange({ ...value, format: Number(event.currentTarget.value) })}
        >
          {Object.keys(MEMBERS).map((format) => (
            <option key={format} value={format}>
              {formatName(Number(format))}
            </option>
          ))}
        </select>
      </div>
      {members.map(([member, hint]) => (
        <Field
          key={`${value.format} ${member}`}
          label={t(LABELS[member])}
          hint={t(hint)}
          wrong={wrong.get(member === "contentType" ? "template.content_type" : member)}
          value={value[member]}
          lines={member === "template"}
          onChange={(text) => onChange({ ...value, [member]: text })}
        />
      ))}
    </>
  );
}

/** Members of the request; only those that the format shows. */
export function formatInput(value: FormatChoice) {
  const shown = MEMBERS[value.format] ?? {};
  const text = (member: Member): string => (member in shown ? value[member].trim() : "");
  return {
    format: value.format,
    url: text("url"),
    token: text("token"),
    chat: text("chat"),
    ...("template" in shown && {
      template: { body: value.template, contentType: text("contentType") },
    }),
  };
}
