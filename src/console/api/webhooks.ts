import { createClient } from "@connectrpc/connect";
import { WebhookService } from "../../../gen/mooring/v1/webhook_service_pb.js";
import { transport } from "./client.ts";

export const webhookService = createClient(WebhookService, transport);
