import type { Message } from "../../../messages/message.ts";

/** Options of formats; each format uses some of them. */
export interface FormatOptions {
  /** Secret: token of a bot (telegram), key of a device (bark), access token (ntfy). Empty: none. */
  readonly token: string;
  /** Telegram: id of a chat, or `@` and the name of a channel. */
  readonly chat: string;
  /** Mustache template of the body. */
  readonly template: string;
  readonly contentType: string;
  readonly method: string;
  /** Secret: further headers of the request, by their names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Address, options and key of a webhook. */
export interface FormatTarget extends FormatOptions {
  readonly url: string;
  /** Key of the signatures. */
  readonly secret: string;
}

/** Event with its texts for people, as `data` of a Standard Webhook has them. */
export interface Notification {
  /** Identifier, the same in each attempt. */
  readonly id: string;
  /** Time of the attempt, in milliseconds since 1970 UTC. */
  readonly time: number;
  /** Such as `incident.opened`. */
  readonly type: string;
  /** The event as JSON. */
  readonly body: string;
  readonly title: string;
  readonly text: string;
  /** Whether something began to fail. */
  readonly isUrgent: boolean;
  /** Whether something works again. */
  readonly isResolved: boolean;
}

/** Request to a target. */
export interface WebhookRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Form of the requests to a service, after its public documentation. */
export interface Format {
  /** Whether requests are signed (Standard Webhooks). */
  readonly isSigned: boolean;
  /** Members of a reply of the service, one of which explains a refusal. Empty: none does. */
  readonly reasonIn: readonly string[];
  /** Address if none is given; empty: it is required. */
  readonly defaultUrl: string;
  /** Problems of the options, with the names of their fields. */
  readonly problems: (
    webhook: Omit<FormatTarget, "secret">,
  ) => readonly (readonly [field: string, problem: Message])[];
  readonly request: (webhook: FormatTarget, notification: Notification) => WebhookRequest;
}

/** The notification of a stored event, which has its texts in `data`. */
export function notificationOf(
  event: { readonly id: string; readonly body: string },
  time: number,
): Notification {
  const { type = "", data = {} } = JSON.parse(event.body) as {
    readonly type?: string;
    readonly data?: { readonly title?: string; readonly text?: string };
  };
  return {
    id: event.id,
    time,
    type,
    body: event.body,
    title: data.title ?? type,
    text: data.text ?? "",
    isUrgent: /\.(opened|changed)$/.test(type),
    isResolved: /\.closed$/.test(type),
  };
}

/** JSON request without further headers. */
export function jsonRequest(url: string, content: unknown): WebhookRequest {
  return {
    url,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(content),
  };
}
