import { WebhookFormat } from "../../../gen/mooring/v1/incident_pb.js";
import { Check, Field } from "../components/field.tsx";
import { Pairs } from "../components/pairs.tsx";
import { SelectField } from "../components/select-field.tsx";
import { languages, t } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { CLASSES } from "../mounts/incident-classes.ts";
import { plainSites, readSites } from "../records/chosen-sites.ts";
import { SiteChoice } from "../records/site-choice.tsx";
import { asksUnknown, isSigned, MEMBERS, type WebhookDraft, type WebhookTexts } from "./input.ts";

interface FieldsProps {
  readonly draft: WebhookDraft;
  /** Problems by field of the contract. */
  readonly wrong: ReadonlyMap<string, string>;
  readonly set: (change: Partial<WebhookTexts>) => void;
}

/** Fields of the contract whose problems the form shows. */
export const FIELDS = [
  "name",
  "url",
  "token",
  "chat",
  "template",
  "template.content_type",
  "headers",
  "secret",
  "sites",
];

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

const LABELS = {
  url: "webhook.url",
  token: "webhook.token",
  chat: "webhook.chat",
  template: "webhook.template",
  contentType: "webhook.contentType",
} as const satisfies Readonly<Record<string, MessageKey>>;

const METHODS = ["POST", "PUT", "PATCH"];

/** Fields of a webhook: its target, and which incidents are sent. */
export function WebhookFields({ draft, wrong, set }: FieldsProps) {
  const { texts, base } = draft;
  return (
    <>
      <Field
        label={t("mount.name")}
        hint={t("webhook.nameHint")}
        wrong={wrong.get("name")}
        value={texts.name}
        onChange={(name) => set({ name })}
      />
      <SelectField
        label={t("webhook.format")}
        options={Object.keys(MEMBERS).map((format) => [format, formatName(Number(format))])}
        value={String(texts.format)}
        onChange={(format) => set({ format: Number(format) })}
      />
      <Target draft={draft} wrong={wrong} set={set} />
      {texts.format === WebhookFormat.TEMPLATE && (
        <TemplateRequest draft={draft} wrong={wrong} set={set} />
      )}
      {isSigned(texts.format) && (
        <Field
          label={t("webhook.key")}
          hint={t(base ? "webhook.keptHint" : "webhook.keyHint")}
          wrong={wrong.get("secret")}
          value={texts.secret}
          secret
          onChange={(secret) => set({ secret })}
        />
      )}
      <SiteChoice
        value={readSites(texts.sites)}
        all={t("mount.everySite")}
        wrong={wrong.get("sites")}
        onChange={(sites) => set({ sites: plainSites(sites) })}
      />
      <Classes texts={texts} set={set} />
      <SelectField
        label={t("webhook.language")}
        options={Object.entries(languages)}
        value={texts.language}
        onChange={(language) => set({ language })}
      />
      <Check
        label={t("webhook.isDisabled")}
        checked={texts.disabled}
        onChange={(disabled) => set({ disabled })}
      />
    </>
  );
}

/** Address and further values of the format; stored secrets stay unless new ones are typed. */
function Target({ draft: { texts, base }, wrong, set }: FieldsProps) {
  const isStored = base !== undefined && base.format === texts.format;
  const members = Object.entries(MEMBERS[texts.format] ?? {}) as [
    keyof typeof LABELS,
    MessageKey,
  ][];
  const hintOf = (member: keyof typeof LABELS, hint: MessageKey): string => {
    const isKept = member === "url" || (member === "token" && base?.hasToken === true);
    if (!isStored || !isKept) return t(hint);
    return member === "url" ? t("webhook.urlKept", { target: base.target }) : t("webhook.keptHint");
  };
  return (
    <>
      {members.map(([member, hint]) => (
        <Field
          key={`${texts.format} ${member}`}
          label={t(LABELS[member])}
          hint={hintOf(member, hint)}
          wrong={wrong.get(member === "contentType" ? "template.content_type" : member)}
          value={texts[member]}
          lines={member === "template"}
          secret={member === "token"}
          onChange={(text) => set({ [member]: text })}
        />
      ))}
      {isStored && base.hasToken && texts.format === WebhookFormat.NTFY && (
        <Check
          label={t("webhook.removeToken")}
          checked={texts.isTokenRemoved}
          onChange={(isTokenRemoved) => set({ isTokenRemoved })}
        />
      )}
    </>
  );
}

/** Method and headers of the requests of a template. */
function TemplateRequest({ draft: { texts }, wrong, set }: FieldsProps) {
  return (
    <>
      <SelectField
        label={t("webhook.method")}
        options={METHODS.map((method) => [method, method])}
        value={texts.method}
        onChange={(method) => set({ method })}
      />
      <Pairs
        label={t("webhook.headers")}
        hint={t("webhook.headersHint")}
        value={texts.headers}
        names={["Authorization"]}
        wrong={wrong.get("headers")}
        onChange={(headers) => set({ headers })}
      />
    </>
  );
}

/** Classes of the incidents that are sent. */
function Classes({ texts, set }: Pick<FieldsProps, "set"> & { readonly texts: WebhookTexts }) {
  const { classes, withoutUnknown } = texts;
  return (
    <fieldset class="classes">
      <legend class="label">{t("webhook.classes")}</legend>
      {Object.entries(CLASSES).map(([number, key]) => (
        <Check
          key={number}
          label={t(key)}
          checked={classes.includes(Number(number))}
          onChange={(checked) => {
            const rest = classes.filter((each) => each !== Number(number));
            set({ classes: checked ? [...rest, Number(number)].sort((a, b) => a - b) : rest });
          }}
        />
      ))}
      <p class="quiet small">{t("webhook.classesHint")}</p>
      {asksUnknown(classes) && (
        <Check
          label={t("webhook.withUnknown")}
          checked={!withoutUnknown}
          onChange={(checked) => set({ withoutUnknown: !checked })}
        />
      )}
    </fieldset>
  );
}
