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
  "webhook.classes": "Incidents",
  "webhook.classesHint": "None selected: all. Incidents of unknown cause are sent too.",
  "webhook.delete": "Delete {name}",
  "webhook.deleteQuestion": "No more messages are sent, and its deliveries are deleted.",
  "webhook.deliveries": "Deliveries",
  "webhook.disable": "Disable",
  "webhook.enable": "Enable",
  "webhook.key": "Key of the signatures",
  "webhook.nameHint": "Letters, digits, dots, underscores and hyphens.",
  "webhook.once":
    "This key signs the messages (Standard Webhooks). It is shown only once: copy it to the target now.",
  "webhook.test": "Send a test",
  "webhook.url": "Address",
  "webhook.urlHint": "https:// or http://. Later, only the host is shown.",

  "webhooks.about":
    "Each change of an incident is sent to these addresses, with a signature and retries for three days.",
  "webhooks.add": "Add a webhook",
  "webhooks.none": "There are no webhooks.",
  "webhooks.noneAbout":
    "Add the address of a chat or of another service for notifications of incidents.",
} as const satisfies Readonly<Record<string, Message>>;
