import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { language } from "../i18n/language.ts";
import { fetchOnce, services } from "./early.ts";
import { session, signOut } from "./session.ts";

/** Adds token and language to calls; signs out when the token is refused. */
const asUser: Interceptor = (next) => async (request) => {
  const sent = session.peek()?.token;
  // A token under test is already in the header.
  const own = !request.header.has("authorization");
  if (own) request.header.set("authorization", `Bearer ${sent ?? ""}`);
  request.header.set("accept-language", language.peek());
  try {
    return await next(request);
  } catch (error) {
    throw refused(error, own ? sent : undefined);
  }
};

/** Signs out if the token itself was refused. Streams call this with the error that ends them. */
export function refused(error: unknown, sent: string | undefined): unknown {
  const unknown = error instanceof ConnectError && error.code === Code.Unauthenticated;
  if (unknown && sent !== undefined && sent === session.peek()?.token) signOut("tokenEnded");
  return error;
}

/** Transport to the service. Clients of services that only some pages need are created there. */
export const transport = createConnectTransport({
  baseUrl: services,
  fetch: fetchOnce,
  useBinaryFormat: true,
  interceptors: [asUser],
});

export const settingService = createClient(SettingService, transport);
