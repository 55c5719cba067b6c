import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import type { ClientOptions, RawData } from "ws";
import type { ServiceError } from "../messages/error.ts";
import {
  type Connection,
  isSecure,
  MAX_REPLY_BYTES,
  type NetworkOptions,
  watchSteps,
} from "./connection.ts";
import { abortable, type ReplyHead, type Step, stepFailure, tooLarge } from "./failure.ts";

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
    if (length > MAX_REPLY_BYTES) throw tooLarge(connection.target, MAX_REPLY_BYTES);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function unwantedUpgrade(): Error {
  return Object.assign(new Error("another protocol"), { code: "UNWANTED_UPGRADE" });
}

/** Message, and the condition for its answer. */
export interface WebSocketCall<T> {
  /** `ws:` or `wss:`, without user name, password and fragment. */
  readonly url: URL;
  /** `user:password` for HTTP Basic authentication of the handshake. */
  readonly auth?: string;
  readonly message: string;
  /** Parses a received message; undefined: it is not the answer. */
  readonly accept: (text: string) => T | undefined;
  /** Converts the reply to a failed handshake to an error. */
  readonly refuse: (reply: ReplyHead) => ServiceError;
}

/**
 * Opens a WebSocket, sends one message and waits for its answer. All messages together have the
 * size limit of one reply. There are no redirects, proxies and decompression, and the connection is
 * closed when the promise settles. It rejects with `stepFailure`, `tooLarge`, errors of `accept`
 * and results of `refuse`.
 */
export async function converse<T>(call: WebSocketCall<T>, connection: Connection): Promise<T> {
  const { signal, target } = connection;
  let step: () => Step = () => "connect";
  const options: ClientOptions & NetworkOptions = {
    ...connection.network,
    ...(call.auth === undefined ? {} : { auth: call.auth }),
    followRedirects: false,
    perMessageDeflate: false,
    autoPong: false,
    maxPayload: MAX_REPLY_BYTES,
    finishRequest: (request) => {
      step = watchSteps(request, call.url);
      request.end();
    },
  };
  // Loaded on demand: few sites have an aria2 with WebSocket.
  const { WebSocket } = await import("ws");
  const socket = new WebSocket(call.url, options);
  try {
    return await abortable<T>(signal, (resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () => reject(closedEarly()));
      socket.on("open", () => socket.send(call.message));
      socket.on("message", answerReader(call, connection, resolve, reject));
      socket.on("unexpected-response", (_, { statusCode: status = 0, headers }) =>
        reject(call.refuse({ url: call.url, status, headers })),
      );
    });
  } catch (error) {
    throw stepFailure(target, step(), signal, error);
  } finally {
    socket.terminate();
  }
}

function answerReader<T>(
  call: WebSocketCall<T>,
  { target }: Connection,
  resolve: (answer: T) => void,
  reject: (error: unknown) => void,
): (data: RawData) => void {
  let length = 0;
  return (data) => {
    // ws gives a Buffer unless its binaryType is changed.
    const bytes = data as Buffer;
    length += bytes.length;
    if (length > MAX_REPLY_BYTES) return reject(tooLarge(target, MAX_REPLY_BYTES));
    try {
      const answer = call.accept(bytes.toString("utf8"));
      if (answer !== undefined) resolve(answer);
    } catch (error) {
      reject(error);
    }
  };
}

function closedEarly(): Error {
  return Object.assign(new Error("closed before an answer"), { code: "ECONNRESET" });
}
