import { connect } from "node:http2";
import { Readable } from "node:stream";
import { onTestFinished } from "vitest";

/** Reply of a request over any transport: status, headers, body and trailers as one text. */
export interface Answer {
  readonly status: number;
  /** Trailers as well. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/**
 * Sends a request over HTTP/2 on its own connection, and reads its whole reply.
 *
 * @param body undefined: nothing is sent after the headers; parts are sent as they come.
 */
export function askHttp2(
  port: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer | AsyncIterable<Buffer> | undefined,
): Promise<Answer> {
  const session = connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  const stream = session.request(headers, { endStream: false });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const received: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  stream.on("response", (headers) => Object.assign(received, headers));
  stream.on("trailers", (trailers) => Object.assign(received, trailers));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", reject);
  stream.on("end", () => {
    const text = `${Buffer.concat(chunks)}`;
    resolve({ status: Number(received[":status"]), headers: received, text });
  });
  if (Buffer.isBuffer(body)) stream.end(body);
  else if (body !== undefined) Readable.from(body).pipe(stream);
  return promise;
}

/** Numbers of HTTP and gRPC, and the name in Connect. */
const CODES = {
  unauthenticated: [401, 16, "unauthenticated"],
  invalid_argument: [400, 3, "invalid_argument"],
  resource_exhausted: [413, 8, "resource_exhausted"],
  crowded: [429, 8, "resource_exhausted"],
  deadline_exceeded: [504, 4, "deadline_exceeded"],
  timeout: [408, 4, "deadline_exceeded"],
  internal: [500, 13, "internal"],
} as const;

/** Codes that the tests expect. */
export type CodeName = keyof typeof CODES;

/** Matches the reply of any transport with this code, in the form of its protocol. */
export function saying(code: CodeName): RegExp {
  const [http, grpc, name] = CODES[code];
  return new RegExp([`"code":"${name}"`, `"code":${http},`, `grpc-status: ${grpc}\\b`].join("|"));
}

/** The reply as one text with its code. */
export function textOf({ headers, text }: Answer): string {
  const status = headers["grpc-status"];
  return status === undefined ? text : `grpc-status: ${status}\n${text}`;
}

/** The message, without the protocol's escapes. */
export function plainText({ headers, text }: Answer): string {
  const [, inTrailers = ""] = /grpc-message: ([^\r\n]*)/.exec(text) ?? [];
  return (
    [String(headers["grpc-message"] ?? ""), inTrailers].map(decodeURIComponent).join("") || text
  );
}
