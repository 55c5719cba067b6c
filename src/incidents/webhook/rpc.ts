import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type IncidentClass as ClassProto,
  type WebhookDelivery as DeliveryMessage,
  WebhookFormat as FormatProto,
  WebhookDeliveryState as StateProto,
  WebhookDeliverySchema,
  type WebhookInput as WebhookInputMessage,
  type Webhook as WebhookMessage,
  WebhookSchema,
} from "../../../gen/mooring/v1/incident_pb.js";
import {
  CreateWebhookResponseSchema,
  DeleteWebhookResponseSchema,
  ListWebhookDeliveriesResponseSchema,
  ListWebhooksResponseSchema,
  ResendWebhookDeliveryResponseSchema,
  TestWebhookResponseSchema,
  UpdateWebhookResponseSchema,
  type WebhookService as WebhookServiceDesc,
} from "../../../gen/mooring/v1/webhook_service_pb.js";
import { grantOf } from "../../access/grant.ts";
import { originOf } from "../../audit/entry.ts";
import { invalid } from "../../messages/error.ts";
import type { Language, Translate } from "../../messages/language.ts";
import { createSayIn } from "../../messages/localize.ts";
import { message, type Text } from "../../messages/message.ts";
import { pageLimit, placeOf, tokenOf } from "../../messages/page.ts";
import { CLASSES, type IncidentClass } from "../incident.ts";
import { CLASS_VALUES } from "../message.ts";
import type { DeliveryState } from "../store.ts";
import { FORMAT_OF, FORMATS, type WebhookFormat } from "./format/formats.ts";
import { NO_OPTIONS, type Webhook, type WebhookInput } from "./input.ts";
import type { NamedDelivery } from "./send-now.ts";
import type { WebhookService } from "./service.ts";

/** Implements WebhookService. */
export function webhookImpl(
  {
    webhooks,
    siteName,
  }: {
    readonly webhooks: WebhookService;
    /** Name of a site, or the words for one that was removed. */
    readonly siteName: (siteId: string) => Text;
  },
  translations: (language: Language) => Translate,
): ServiceImpl<typeof WebhookServiceDesc> {
  const sayIn = createSayIn(translations);
  const toProtoIn = (context: HandlerContext) => (webhook: Webhook) => ({
    ...webhookToProto(webhook, (siteId) => sayIn(context)(siteName(siteId))),
    etag: webhooks.etagOf(webhook),
  });
  const deliveryIn = (context: HandlerContext) => {
    const say = sayIn(context);
    return (delivery: NamedDelivery) => deliveryToProto(delivery, say);
  };
  return {
    listWebhooks: async (_request, context) =>
      create(ListWebhooksResponseSchema, {
        webhooks: (await webhooks.list()).map(toProtoIn(context)),
      }),
    createWebhook: async ({ webhook }, context) => {
      const made = await webhooks.create(inputFromProto(webhook), originOf(context));
      const secret = FORMAT_OF[made.format].isSigned ? made.secret : "";
      return create(CreateWebhookResponseSchema, { webhook: toProtoIn(context)(made), secret });
    },
    updateWebhook: async ({ name, webhook, expectedEtag }, context) => {
      // As in exports: only the permanent token reads addresses and keys.
      const { isRoot: reveals } = grantOf(context);
      const input = inputFromProto(webhook);
      const options = { reveals, expectedEtag };
      const changed = await webhooks.update(name, input, originOf(context), options);
      return create(UpdateWebhookResponseSchema, { webhook: toProtoIn(context)(changed) });
    },
    deleteWebhook: async ({ name }, context) => {
      await webhooks.delete(name, originOf(context));
      return create(DeleteWebhookResponseSchema);
    },
    testWebhook: async ({ name }, context) => {
      const delivery = await webhooks.test(name, originOf(context));
      return create(TestWebhookResponseSchema, { delivery: deliveryIn(context)(delivery) });
    },
    listWebhookDeliveries: async ({ name, pageSize, pageToken }, context) => {
      const limit = pageLimit(pageSize, { beyond: "invalid" });
      const before = placeOf(pageToken);
      const found = await webhooks.deliveries(
        name,
        limit + 1,
        before && { createdAt: before.time, id: before.id },
      );
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return create(ListWebhookDeliveriesResponseSchema, {
        deliveries: page.map(deliveryIn(context)),
        nextPageToken:
          found.length > limit && last !== undefined ? tokenOf(last.createdAt, last.id) : "",
      });
    },
    resendWebhookDelivery: async ({ id }, context) => {
      const delivery = await webhooks.resend(id, originOf(context));
      return create(ResendWebhookDeliveryResponseSchema, {
        delivery: deliveryIn(context)(delivery),
      });
    },
  };
}

function inputFromProto(input: WebhookInputMessage | undefined): WebhookInput {
  if (input === undefined)
    throw invalid([{ field: "webhook", description: message("WEBHOOK_MISSING") }]);
  const { name, url, secret, language, disabled } = input;
  return {
    name,
    url,
    secret,
    language,
    disabled,
    classes: input.classes?.classes.map(classFromProto),
    withoutUnknown: input.classes?.withoutUnknown,
    sites: input.sites?.names,
    format: input.format === undefined ? undefined : formatFromProto(input.format),
    token: input.token,
    chat: input.chat,
    headers: input.headers?.values,
    ...(input.template && {
      template: input.template.body,
      contentType: input.template.contentType || NO_OPTIONS.contentType,
      method: input.template.method || NO_OPTIONS.method,
    }),
  };
}

const FORMAT_VALUES: Readonly<Record<WebhookFormat, FormatProto>> = {
  standard: FormatProto.STANDARD,
  ntfy: FormatProto.NTFY,
  telegram: FormatProto.TELEGRAM,
  discord: FormatProto.DISCORD,
  slack: FormatProto.SLACK,
  bark: FormatProto.BARK,
  template: FormatProto.TEMPLATE,
};

function formatFromProto(value: FormatProto): WebhookFormat {
  if (value === FormatProto.UNSPECIFIED) return "standard";
  const found = FORMATS.find((each) => FORMAT_VALUES[each] === value);
  if (found !== undefined) return found;
  const names = FORMATS.map((each) => `WEBHOOK_FORMAT_${each.toUpperCase()}`).join(", ");
  throw invalid([
    { field: "format", description: message("VALUE_UNKNOWN", { field: "format", names }) },
  ]);
}

function classFromProto(value: ClassProto): IncidentClass {
  const found = CLASSES.find((each) => CLASS_VALUES[each] === value);
  if (found !== undefined) return found;
  throw invalid([
    {
      field: "classes",
      description: message("VALUES_UNKNOWN", {
        field: "classes",
        names: CLASSES.map((each) => `INCIDENT_CLASS_${each.toUpperCase()}`).join(", "),
      }),
    },
  ]);
}

function webhookToProto(webhook: Webhook, siteName: (siteId: string) => string): WebhookMessage {
  const { name, siteIds, language, disabled, createdBy, withoutUnknown } = webhook;
  return create(WebhookSchema, {
    name,
    withoutUnknown,
    language,
    disabled,
    createdBy,
    sites: siteIds.map(siteName),
    target: new URL(webhook.url).origin,
    classes: webhook.classes.map((each) => CLASS_VALUES[each]),
    createTime: timestampFromMs(webhook.createdAt),
    format: FORMAT_VALUES[webhook.format],
    chat: webhook.chat,
    hasToken: webhook.token !== "",
    headerNames: Object.keys(webhook.headers),
    ...(webhook.template !== "" && {
      template: {
        body: webhook.template,
        contentType: webhook.contentType,
        method: webhook.method,
      },
    }),
  });
}

const STATES: Readonly<Record<DeliveryState, StateProto>> = {
  waiting: StateProto.WAITING,
  delivered: StateProto.DELIVERED,
  failed: StateProto.FAILED,
};

function deliveryToProto(delivery: NamedDelivery, say: (text: Text) => string): DeliveryMessage {
  const { id, webhook, type, body, attempts, status } = delivery;
  return create(WebhookDeliverySchema, {
    id,
    webhook,
    type,
    body,
    attempts,
    status,
    incident: delivery.incidentId,
    createTime: timestampFromMs(delivery.createdAt),
    state: STATES[delivery.state],
    ...(delivery.nextTry > 0 && { retryTime: timestampFromMs(delivery.nextTry) }),
    error: say(delivery.error),
  });
}
