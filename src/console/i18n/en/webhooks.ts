import type { Message } from "../en.ts";

/** English texts of the page Webhooks. */
export const webhooksTexts = {
  "delivery.attempts": { one: "1 attempt", other: "{count} attempts" },
  "delivery.body": "Message",
  "delivery.delivered": "delivered",
  "delivery.failed": "failed",
  "delivery.next": "next attempt",
  "delivery.none": "Nothing was sent yet.",
  "delivery.resend": "Send again",
  "delivery.waiting": "waiting",

  "webhook.allClasses": "all incidents",
  "webhook.barkHint": "Key of the device, which the Bark app shows.",
  "webhook.barkUrlHint": "Empty: https://api.day.app.",
  "webhook.botHint": "Token of the bot, from @BotFather.",
  "webhook.chat": "Chat",
  "webhook.chatHint": "Number of the chat, or @ and the name of a channel.",
  "webhook.classes": "Incidents",
  "webhook.classesHint": "None selected: all. Incidents of unknown cause are sent too.",
  "webhook.contentType": "Content-Type",
  "webhook.contentTypeHint": "Empty: application/json.",
  "webhook.delete": "Delete {name}",
  "webhook.deleteQuestion": "No more messages are sent, and its deliveries are deleted.",
  "webhook.deliveries": "Deliveries",
  "webhook.disable": "Disable",
  "webhook.discordHint": "Channel settings, Integrations, Webhooks: copy the address.",
  "webhook.edit": "Edit",
  "webhook.editTitle": "Edit {name}",
  "webhook.enable": "Enable",
  "webhook.format": "Service",
  "webhook.key": "Key of the signatures",
  "webhook.nameHint": "Letters, digits, dots, underscores and hyphens.",
  "webhook.ntfyHint": "Server and topic, such as https://ntfy.sh/TOPIC.",
  "webhook.ntfyTokenHint": "Access token; empty: none.",
  "webhook.once":
    "This key signs the messages (Standard Webhooks). It is shown only once: copy it to the target now.",
  "webhook.replaceAddress": "Replace the address and its credentials, which are not shown",
  "webhook.save": "Save",
  "webhook.slackHint": "Address of an incoming webhook.",
  "webhook.template": "Template",
  "webhook.templateHint":
    "Mustache: {{title}}, {{text}}, {{site}}, {{mount_path}}, {{class}}, {{message}}, {{json}}.",
  "webhook.test": "Send a test",
  "webhook.token": "Token",
  "webhook.url": "Address",
  "webhook.urlHint": "https:// or http://. Later, only the host is shown.",

  "webhooks.about":
    "Each change of an incident is sent to these addresses, in the form of their service, with retries for three days.",
  "webhooks.add": "Add a webhook",
  "webhooks.none": "There are no webhooks.",
  "webhooks.noneAbout":
    "Add the address of a chat or of another service for notifications of incidents.",
} as const satisfies Readonly<Record<string, Message>>;
