import {
  IncidentClass,
  type Webhook,
  WebhookFormat,
  WebhookSchema,
} from "../../../gen/mooring/v1/incident_pb.js";
import type { PairList } from "../components/pair-list.ts";
import { language } from "../i18n/language.ts";
import type { MessageKey } from "../i18n/messages.ts";
import { changedMembers } from "../records/changed-members.ts";
import type { plainSites } from "../records/chosen-sites.ts";
import { type KeptMessage, readMessage, writeMessage } from "../records/kept-message.ts";
import { MASK, withoutSecrets } from "../records/secret-pairs.ts";

/** Inputs of the form of a webhook that are compared with those at its beginning. */
export interface WebhookTexts {
  readonly name: string;
  readonly format: WebhookFormat;
  /** Empty: the stored address stays. */
  readonly url: string;
  /** Empty: the stored token stays. */
  readonly token: string;
  /** Whether the stored token is removed. */
  readonly isTokenRemoved: boolean;
  readonly chat: string;
  readonly template: string;
  readonly contentType: string;
  readonly method: string;
  /** Values of stored headers are masked. */
  readonly headers: PairList;
  /** Key of the signatures; empty: the stored one stays, a new webhook gets a random one. */
  readonly secret: string;
  readonly sites: ReturnType<typeof plainSites>;
  readonly classes: readonly IncidentClass[];
  readonly withoutUnknown: boolean;
  readonly language: string;
  readonly disabled: boolean;
}

/** Inputs of the form, and the webhook that they started from; undefined: a new one. */
export interface WebhookDraft {
  readonly base: Webhook | undefined;
  readonly texts: WebhookTexts;
}

export function draftOf(webhook: Webhook | undefined): WebhookDraft {
  return {
    base: webhook,
    texts: {
      name: webhook?.name ?? "",
      format: webhook?.format ?? WebhookFormat.STANDARD,
      url: "",
      token: "",
      isTokenRemoved: false,
      chat: webhook?.chat ?? "",
      template: webhook?.template?.body ?? "",
      contentType: webhook?.template?.contentType ?? "",
      method: webhook?.template?.method ?? "POST",
      headers: webhook?.headerNames.map((name) => [name, MASK] as const) ?? [],
      secret: "",
      sites: { all: !webhook || webhook.sites.length === 0, names: webhook?.sites ?? [] },
      classes: webhook?.classes ?? [],
      withoutUnknown: webhook?.withoutUnknown ?? false,
      language: webhook?.language ?? language.peek(),
      disabled: webhook?.disabled ?? false,
    },
  };
}

/** Names of the inputs that differ from those of the webhook. */
export function changesOf({ base, texts }: WebhookDraft): readonly string[] {
  return Object.keys(changedMembers(draftOf(base).texts, texts));
}

/** The changed inputs, on a newer state of the webhook. */
export function rebased({ base, texts }: WebhookDraft, webhook: Webhook): WebhookDraft {
  const now = draftOf(webhook);
  return { ...now, texts: { ...now.texts, ...changedMembers(draftOf(base).texts, texts) } };
}

/** Inputs as the browser keeps them. */
interface KeptDraft {
  readonly base: KeptMessage;
  readonly texts: WebhookTexts;
}

/** Inputs without secrets, and the names of those that are left out. */
export function writeDraft({ base, texts }: WebhookDraft) {
  const headers = withoutSecrets(texts.headers, draftOf(base).texts.headers, () => false);
  const lost = (["url", "token", "secret"] as const).filter((name) => texts[name] !== "");
  const value: KeptDraft = {
    base: writeMessage(WebhookSchema, base),
    texts: { ...texts, url: "", token: "", secret: "", headers: headers.pairs },
  };
  return { value, secrets: [...lost, ...headers.lost] };
}

/** The inputs that `writeDraft` has returned. */
export function readDraft(kept: unknown): WebhookDraft {
  const { base, texts } = kept as KeptDraft;
  return { texts, base: readMessage(WebhookSchema, base) };
}

/** Values that a format has beside its address. */
type Member = "url" | "token" | "chat" | "template" | "contentType";

/** Values of each format in the order of the form, with their hints. */
export const MEMBERS: Partial<Record<WebhookFormat, Partial<Record<Member, MessageKey>>>> = {
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

/** Reports whether messages of a format are signed with the key of the webhook. */
export function isSigned(format: WebhookFormat): boolean {
  return format === WebhookFormat.STANDARD || format === WebhookFormat.TEMPLATE;
}

/** Reports whether incidents of the class `unknown` are sent beside the chosen ones. */
export function asksUnknown(classes: readonly IncidentClass[]): boolean {
  return classes.length > 0 && !classes.includes(IncidentClass.UNKNOWN);
}

/** The inputs as a change: only what was changed, and all that another format needs. */
export function inputOf({ base, texts }: WebhookDraft) {
  const changed: Partial<WebhookTexts> =
    base === undefined ? texts : changedMembers(draftOf(base).texts, texts);
  const { format } = texts;
  const members = MEMBERS[format] ?? {};
  const isOther = base?.format !== format;
  const text = (name: "url" | "token" | "chat") => {
    const value = name in members ? texts[name].trim() : "";
    return isOther || (name in changed && name in members) ? { [name]: value } : {};
  };
  const hasTemplate = ["template", "contentType", "method"].some((name) => name in changed);
  const hasClasses = "classes" in changed || "withoutUnknown" in changed;
  return {
    ...(changed.name !== undefined && { name: changed.name.trim() }),
    ...(isOther && { format }),
    ...text("url"),
    ...text("token"),
    ...(texts.isTokenRemoved && { token: "" }),
    ...text("chat"),
    ...("template" in members && {
      ...((isOther || hasTemplate) && {
        template: {
          body: texts.template,
          contentType: texts.contentType.trim(),
          method: texts.method,
        },
      }),
      ...("headers" in changed && { headers: { values: headersOf(texts.headers) } }),
    }),
    ...(isSigned(format) && texts.secret !== "" && { secret: texts.secret.trim() }),
    ...(changed.sites && { sites: { names: changed.sites.all ? [] : changed.sites.names } }),
    ...(hasClasses && {
      classes: {
        classes: [...texts.classes],
        withoutUnknown: texts.withoutUnknown && asksUnknown(texts.classes),
      },
    }),
    ...(changed.language && { language: changed.language }),
    ...(changed.disabled !== undefined && { disabled: changed.disabled }),
  };
}

function headersOf(pairs: PairList): Record<string, string> {
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => (name.trim() === "" ? [] : [[name.trim(), value]])),
  );
}
