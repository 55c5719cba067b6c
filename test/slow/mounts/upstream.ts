import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * An OpenList that another one mounts: a login issues a new token, and only the newest one is
 * valid.
 */
export interface Upstream {
  readonly url: string;
  /** The valid token. */
  token(): string;
  /** Ends the token: the next request of a mount logs in. */
  expire(): void;
  /** Requests wait until it is resolved. */
  hang: Promise<void> | undefined;
  logins: number;
  close(): Promise<void>;
}

export async function startUpstream(): Promise<Upstream> {
  let token = "";
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    await upstream.hang;
    const { url = "", headers } = request;
    const reply = (code: number, data: unknown, message = "success"): void =>
      void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ code, message, data }));
    if (url === "/api/auth/login") {
      upstream.logins += 1;
      token = `token-${upstream.logins}`;
      return reply(200, { token });
    }
    if (headers.authorization !== token) return reply(401, null, "token is invalidated");
    if (url === "/api/me") return reply(200, { username: "ann", role: 0 });
    return reply(200, { content: [], total: 0, readme: "", write: false, provider: "x" });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const upstream: Upstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: () => token,
    expire: () => {
      token = "";
    },
    hang: undefined,
    logins: 0,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return upstream;
}
