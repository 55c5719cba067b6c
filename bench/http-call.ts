import { type IncomingHttpHeaders, request } from "node:http";

/** One HTTP/1.1 request to 127.0.0.1. */
export interface HttpRequest {
  readonly port: number;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** Its reply. */
export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Names and values as they came, in their order. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** Sends one request on a connection of its own. */
export function callHttp(call: HttpRequest): Promise<HttpReply> {
  const { port, path, method = "GET", headers = {}, body } = call;
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, method, headers, agent: false };
    const sent = request(options, (reply) => {
      const parts: Buffer[] = [];
      reply.on("data", (part: Buffer) => parts.push(part));
      reply.on("error", reject);
      reply.on("end", () =>
        resolve({
          status: reply.statusCode ?? 0,
          headers: reply.headers,
          rawHeaders: reply.rawHeaders,
          body: Buffer.concat(parts),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
