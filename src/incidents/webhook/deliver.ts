import { errorText } from "../../error-text.ts";
import { message } from "../../messages/message.ts";
import type { IncidentStore, StoredDelivery } from "../store.ts";
import { DIGEST_WINDOW } from "./announce.ts";
import { notificationOf, type WebhookRequest } from "./format/format.ts";
import { FORMAT_OF } from "./format/formats.ts";
import type { Webhook } from "./input.ts";
import type { Attempt, Send } from "./send.ts";

/** Pauses before the second and later attempts, in milliseconds (Standard Webhooks 1.0). */
const PAUSES = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map(
  (seconds) => seconds * 1_000,
);
/** Longest extension of a pause, as a share of it. */
const SPREAD = 0.1;
/** Maximum number of concurrent attempts; each webhook has at most one. */
const MAX_RUNNING = 4;

export interface DelivererDeps {
  readonly store: Pick<IncidentStore, "due" | "changeDelivery">;
  readonly webhook: (id: string) => Webhook | undefined;
  readonly send: Send;
  readonly now: () => number;
  readonly random: () => number;
  /** Disables a webhook whose target has answered 410 Gone. */
  readonly disable: (id: string) => Promise<void>;
  /** Called after each attempt. */
  readonly onAttempt: (delivery: StoredDelivery) => void;
  /** Pauses between attempts, in milliseconds. */
  readonly pauses?: readonly number[] | undefined;
}

/** Sender of due deliveries. */
export interface Deliverer {
  /** Starts due deliveries, one per webhook and four in total at a time; resolves when they are done. */
  run(): Promise<void>;
}

export function createDeliverer(deps: DelivererDeps): Deliverer {
  const { store, now, pauses = PAUSES } = deps;
  /** Longest pause after each number of attempts. */
  const longest = [DIGEST_WINDOW, ...pauses.map((pause) => Math.ceil(pause * (1 + SPREAD)))];
  const running = new Set<string>();
  const sendOne = async (delivery: StoredDelivery, webhook: Webhook): Promise<void> => {
    const { status, error } = await sendTo(webhook, delivery, { send: deps.send, now });
    const done = await store.changeDelivery(delivery, (stored) => {
      const attempts = stored.attempts + 1;
      // A resent message was accepted, or given up, during this attempt.
      if (error !== "" && stored.state !== "waiting") return { ...stored, attempts };
      // Incidents that were added during this attempt: all are sent again.
      if (stored.body !== delivery.body) return { ...stored, attempts, status, nextTry: now() };
      const pause = status === 410 ? undefined : pauses[attempts - 1];
      return {
        ...stored,
        attempts,
        status,
        error,
        ...(error === ""
          ? { state: "delivered", nextTry: 0 }
          : pause === undefined
            ? { state: "failed", nextTry: 0 }
            : // Up to a tenth longer, at random, so that retries to a recovered target are spread.
              { nextTry: now() + Math.round(pause * (1 + deps.random() * SPREAD)) }),
      };
    });
    if (status === 410) await deps.disable(webhook.id);
    deps.onAttempt(done);
  };
  return {
    run: async () => {
      const due = await store.due(now(), longest);
      const begun: Promise<void>[] = [];
      for (const delivery of due) {
        const webhook = deps.webhook(delivery.webhookId);
        if (webhook === undefined || running.has(webhook.id)) continue;
        if (webhook.disabled) {
          const error = message("DELIVERY_WEBHOOK_DISABLED");
          await store.changeDelivery(delivery, (stored) =>
            stored.state === "waiting" ? { ...stored, state: "failed", nextTry: 0, error } : stored,
          );
          continue;
        }
        if (running.size >= MAX_RUNNING) break;
        running.add(webhook.id);
        begun.push(sendOne(delivery, webhook).finally(() => running.delete(webhook.id)));
      }
      await Promise.all(begun);
    },
  };
}

/** Sends a notification in the format of a webhook, once. Never rejects. */
export async function sendTo(
  webhook: Webhook,
  delivery: Pick<StoredDelivery, "id" | "body">,
  { send, now }: { readonly send: Send; readonly now: () => number },
): Promise<Attempt> {
  const { request, reasonIn } = FORMAT_OF[webhook.format];
  const secrets = [webhook.token, webhook.url, ...Object.values(webhook.headers)];
  let made: WebhookRequest;
  try {
    made = request(webhook, notificationOf(delivery, now()));
  } catch (error) {
    // A template whose text is too long for this event.
    const reason = errorText(error);
    return { status: 0, error: message("TEMPLATE_INVALID", { reason }) };
  }
  return send(made, { reasonIn, secrets: secrets.filter((secret) => secret !== "") });
}
