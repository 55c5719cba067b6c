// Transport for Node.js: gRPC over HTTP/2.

import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { withToken } from "./token.ts";

/**
 * @param url of the service, such as `http://127.0.0.1:5244`.
 * @param token without it only public methods answer.
 */
export function createNodeTransport(url: string, token?: string): Transport {
  return createGrpcTransport({
    baseUrl: url,
    interceptors: token === undefined ? [] : [withToken(token)],
  });
}
