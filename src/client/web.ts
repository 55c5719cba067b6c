// Transport for browsers: Connect, with reads as GET requests.

import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { withToken } from "./token.ts";

/**
 * @param url of the service, such as `https://settings.example`.
 * @param token without it only public methods answer.
 */
export function createWebTransport(url: string, token?: string): Transport {
  return createConnectTransport({
    baseUrl: url,
    useHttpGet: true,
    interceptors: token === undefined ? [] : [withToken(token)],
  });
}
