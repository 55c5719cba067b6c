import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { IncidentService } from "../../gen/mooring/v1/incident_service_pb.js";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { RuleService } from "../../gen/mooring/v1/rule_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { StatusService } from "../../gen/mooring/v1/status_service_pb.js";
import { UserService } from "../../gen/mooring/v1/user_service_pb.js";
import { WebhookService } from "../../gen/mooring/v1/webhook_service_pb.js";
import { TOKEN } from "./service.ts";

const services = {
  settings: SettingService,
  access: AccessService,
  sites: SiteService,
  audit: AuditService,
  backup: BackupService,
  mounts: MountService,
  rules: RuleService,
  incidents: IncidentService,
  users: UserService,
  webhooks: WebhookService,
  status: StatusService,
} as const;

export type Clients = { readonly [Name in keyof typeof services]: Client<(typeof services)[Name]> };

/** Clients of all services over one transport. */
export function clientsOver(transport: Transport): Clients {
  const clients = Object.entries(services).map(([name, desc]) => [
    name,
    createClient<DescService>(desc, transport),
  ]);
  return Object.fromEntries(clients);
}

/** Clients of one token. */
export type As = Clients & {
  readonly headers: { readonly authorization: string };
  /** Ends their connection. */
  close(): void;
};

/** Calls over gRPC with a token; default: the permanent one. */
export function as(port: number, token: string = TOKEN): As {
  const baseUrl = `http://127.0.0.1:${port}`;
  const sessionManager = new Http2SessionManager(baseUrl);
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", token);
        return next(request);
      },
    ],
  });
  return {
    ...clientsOver(transport),
    headers: { authorization: token },
    close: () => sessionManager.abort(),
  };
}

/** Creates a token. @returns its text and id. */
export async function give(
  by: Clients,
  scopes: readonly string[],
  limits: readonly string[] = [],
  principal = "tester",
): Promise<{ readonly text: string; readonly id: string }> {
  const { secret, token } = await by.access.createToken({
    principal,
    scopes: [...scopes],
    limits: [...limits],
  });
  return { text: secret, id: token?.id ?? "" };
}

/** Reads a stream to its end. */
export async function drained(stream: AsyncIterator<unknown>): Promise<void> {
  while (!(await stream.next()).done);
}

/** Messages as JSON, for searches in them; 64-bit integers are text. */
export function jsonOf(messages: unknown): string {
  return JSON.stringify(messages, (_name, value) =>
    typeof value === "bigint" ? String(value) : value,
  );
}
