import type { ClientOptions, RawData } from "ws";
import type { ServiceError } from "../messages/error.ts";
import { type Connection, type NetworkOptions, watchSteps } from "./connection.ts";
import { abortable } from "./deadline.ts";
import type { Step } from "./failure.ts";
import { type ReplyHead, stepFailure, tooLarge } from "./failure.ts";

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
    maxPayload: connection.maxReplyBytes,
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
  { target, maxReplyBytes }: Connection,
  resolve: (answer: T) => void,
  reject: (error: unknown) => void,
): (data: RawData) => void {
  let length = 0;
  return (data) => {
    // ws gives a Buffer unless its binaryType is changed.
    const bytes = data as Buffer;
    length += bytes.length;
    if (length > maxReplyBytes) return reject(tooLarge(target, maxReplyBytes));
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
