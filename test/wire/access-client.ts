import { type Client, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { AuditService } from "../../gen/mooring/v1/audit_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { TOKEN } from "./service.ts";

/** Clients of one token. */
export interface As {
  readonly settings: Client<typeof SettingService>;
  readonly access: Client<typeof AccessService>;
  readonly sites: Client<typeof SiteService>;
  readonly audit: Client<typeof AuditService>;
  readonly headers: { readonly authorization: string };
}

/** Calls over gRPC with a token; default: the permanent one. */
export function as(port: number, token: string = TOKEN): As {
  const transport = createGrpcTransport({
    baseUrl: `http://127.0.0.1:${port}`,
    interceptors: [
      (next) => (request) => {
        request.header.set("authorization", token);
        return next(request);
      },
    ],
  });
  return {
    settings: createClient(SettingService, transport),
    access: createClient(AccessService, transport),
    sites: createClient(SiteService, transport),
    audit: createClient(AuditService, transport),
    headers: { authorization: token },
  };
}

/** Creates a token. @returns its text and id. */
export async function give(
  by: As,
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
