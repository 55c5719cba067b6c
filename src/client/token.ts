import type { Interceptor } from "@connectrpc/connect";

/** Sends the token with every call. */
export function withToken(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", token);
    return next(request);
  };
}
