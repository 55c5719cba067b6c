import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { type Connection, isSecure, watchSteps } from "./connection.ts";
import { abortable } from "./deadline.ts";
import { type ReplyHead, stepFailure, tooLarge } from "./failure.ts";

/** HTTP request. */
export interface HttpCall {
  readonly method: "GET" | "POST";
  /** Without user name and password. */
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  /** `user:password` for HTTP Basic authentication. */
  readonly auth?: string;
  readonly body?: string;
}

/** Whole reply, of any status. */
export interface HttpReply extends ReplyHead {
  /** Read as UTF-8. */
  readonly body: string;
}

/**
 * Sends one request over its own connection and reads the whole reply, without redirects, proxies
 * and decompression. The connection is closed when the promise settles. It rejects with
 * `stepFailure` or `tooLarge`, not for a status.
 */
export async function exchange(call: HttpCall, connection: Connection): Promise<HttpReply> {
  const request = (isSecure(call.url) ? https : http).request(call.url, {
    ...connection.network,
    // A dedicated agent keeps no connection and, unlike the global one, uses no proxy.
    agent: false,
    method: call.method,
    headers: { accept: "*/*", "accept-encoding": "identity", ...call.headers },
    signal: connection.signal,
    ...(call.auth === undefined ? {} : { auth: call.auth }),
  });
  const step = watchSteps(request, call.url);
  try {
    const response = await abortable<IncomingMessage>(connection.signal, (resolve, reject) => {
      request.on("error", reject);
      request.once("response", resolve);
      // Without a listener Node drops such a connection silently.
      request.once("upgrade", (_, socket) => {
        socket.destroy();
        reject(unwantedUpgrade());
      });
      request.end(call.body);
    });
    const body = await readBody(response, connection);
    const { statusCode: status = 0, headers } = response;
    return { url: call.url, status, headers, body };
  } catch (error) {
    throw stepFailure(connection.target, step(), connection.signal, error);
  } finally {
    request.destroy();
  }
}

async function readBody(response: IncomingMessage, connection: Connection): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > connection.maxReplyBytes) {
      throw tooLarge(connection.target, connection.maxReplyBytes);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function unwantedUpgrade(): Error {
  return Object.assign(new Error("another protocol"), { code: "UNWANTED_UPGRADE" });
}
