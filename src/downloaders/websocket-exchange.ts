import type { ClientOptions, RawData } from "ws";
import type { ServiceError } from "../messages/error.ts";
import { type Connection, type NetworkOptions, watchSteps } from "./connection.ts";
import { abortable } from "./deadline.ts";
import type { Step } from "./failure.ts";
import { type ReplyHead, stepFailure, tooLarge } from "./failure.ts";

/** Message, and how its answer is recognized. */
export interface WebSocketCall<T> {
  /** `ws:` or `wss:`, without user name, password and fragment. */
  readonly url: URL;
  /** `user:password` for HTTP Basic authentication of the handshake. */
  readonly auth?: string;
  readonly message: string;
  /** Reads a message of the other side; undefined when it is not the answer. */
  readonly accept: (text: string) => T | undefined;
  /** The failure that a reply to the handshake means when it opens no WebSocket. */
  readonly refuse: (reply: ReplyHead) => ServiceError;
}

/**
 * Opens a WebSocket, sends one message and waits for its answer. All messages together may have the
 * length that one reply may have. No redirect is followed, no proxy used, nothing decompressed, and
 * the connection is closed when this settles. Failures are those of `stepFailure` and `tooLarge`,
 * what `accept` throws and what `refuse` gives.
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
