import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Readable, Writable } from "node:stream";
import { release } from "../transport/body.ts";
import { leaveRest } from "../transport/request.ts";
import { cutOff } from "../transport/whole-reply.ts";
import { replyHeaders } from "./header.ts";
import { type Done, takeReads } from "./reading.ts";

interface Exchange {
  readonly call: ClientRequest;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly hasBody: boolean;
  readonly taker: ((body: Buffer) => Promise<void>) | undefined;
  /** Stops forwarding the request's body. */
  readonly stop: () => void;
}

/** Sends the upstream's reply. @throws Error when its headers cannot be sent. */
export function answer(reply: IncomingMessage, exchange: Exchange): void {
  const { call, request, response, hasBody, taker, stop } = exchange;
  const isEarly = hasBody && !request.complete;
  if (isEarly) {
    closeAfter(reply, exchange);
    // The upstream no longer reads the request: the rest would wait without limit.
    if (/\bclose\b/i.test(reply.headers.connection ?? "")) {
      stop();
      request.resume();
    }
  }
  response.sendDate = false;
  writeHead(response, reply);
  if (!hasBody && taker === undefined && sendLong(call, reply, response)) return;
  reply.on("error", () => cutOff(response));
  reply.once("close", () => {
    if (!reply.complete) cutOff(response);
  });
  if (taker === undefined) return void pump(reply, response);
  collect(reply)
    .then(async (body) => {
      await taker(body);
      response.end(body);
    })
    .catch(() => cutOff(response));
}

/**
 * Closes the connection after a reply that precedes the end of its request, whose rest has no
 * receiver. Over HTTP/2 only the stream ends.
 */
function closeAfter(reply: IncomingMessage, { request, response, stop }: Exchange): void {
  const leave = (): void => {
    if (request.complete) return;
    stop();
    leaveRest(request);
  };
  // Over HTTP/2 a response reports that it is sent only when its stream is closed.
  if (request.httpVersionMajor !== 1) return void reply.once("end", leave);
  response.shouldKeepAlive = false;
  // Runs before Node's own listener, which closes the connection.
  response.prependOnceListener("finish", leave);
}

/** Maximum size of a reply that is held while it is processed, in bytes. */
const HELD = 1024 * 1024;

async function collect(reply: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of reply as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > HELD) throw new Error("the reply is too large");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function writeHead(response: ServerResponse, reply: IncomingMessage): void {
  const headers = replyHeaders(reply);
  const { statusCode = 502, statusMessage = "" } = reply;
  if (response.req.httpVersionMajor === 1) {
    if (!response.shouldKeepAlive) headers.push("Connection", "close");
    response.writeHead(
      statusCode,
      /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage) ? statusMessage : "",
      headers,
    );
    return;
  }
  const byName: Record<string, string> = Object.create(null);
  const cookies: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    const value = headers[at + 1] ?? "";
    if (name === "set-cookie") cookies.push(value);
    // Lines of one name are one list (RFC 9110, section 5.3); Node refuses a second one of many.
    else byName[name] = name in byName ? `${byName[name]}, ${value}` : value;
  }
  if (cookies.length > 0) response.setHeader("set-cookie", cookies);
  response.writeHead(statusCode, byName);
}

/** Minimum size of a reply that takes over its connection, in bytes. */
const LONG = 4 * 1024 * 1024;

/**
 * Sends a long body of known length from the upstream's connection, in pieces of up to two
 * megabytes: each is read while the previous one is written. The connection ends with it.
 *
 * Called at the event `response`, after the reply's headers are written.
 *
 * @returns false if the reply does not qualify: nothing was done.
 */
function sendLong(call: ClientRequest, reply: IncomingMessage, response: ServerResponse): boolean {
  const length = lengthOf(call, reply);
  if (length < LONG) return false;
  let left = length;
  const send = (bytes: Buffer, done: Done): void => {
    // Bytes beyond the announced length are not part of the reply.
    const part = bytes.length > left ? bytes.subarray(0, left) : bytes;
    left -= part.length;
    response.write(part, done);
    if (left > 0) return;
    response.end();
    call.destroy();
  };
  const socket = takeReads(call, send);
  if (socket === undefined) return false;
  const onEnd = (): void => {
    if (left > 0) cutOff(response);
  };
  reply.on("error", onEnd).once("close", onEnd);
  // Bytes read together with the headers are in Node's parser until the end of its tick.
  process.nextTick(() => {
    const first = reply.read() as Buffer | null;
    if (first !== null) send(first, () => undefined);
    socket.resume();
  });
  return true;
}

/** Length of a body with a known length and without chunked coding (RFC 9112, section 6.3). */
function lengthOf({ method }: ClientRequest, { statusCode, headers }: IncomingMessage): number {
  const hasBody = method === "GET" && (statusCode === 200 || statusCode === 206);
  if (!hasBody || headers["transfer-encoding"] !== undefined) return 0;
  return Number(headers["content-length"] ?? 0);
}

/**
 * Writes one stream to another with backpressure, then ends it.
 *
 * The memory of each piece is released as soon as it is written: the garbage collector accounts for
 * little memory outside of its heap, and a long transfer would hold a hundred megabytes.
 *
 * @returns a function that stops it; the rest is left to another reader.
 */
export function pump(from: Readable, to: Writable): () => void {
  const onData = (piece: Buffer): void => {
    const goesOn = to.write(piece, (error) => {
      // An unwritten piece may still be referenced.
      if (!error) release(piece);
    });
    if (!goesOn) from.pause();
  };
  const onDrain = (): void => void from.resume();
  const onEnd = (): void => void to.end();
  const stop = (): void => {
    from.off("data", onData).off("end", onEnd).pause();
    to.off("drain", onDrain).off("close", stop);
  };
  to.on("drain", onDrain).on("close", stop);
  from.on("data", onData).on("end", onEnd);
  return stop;
}
