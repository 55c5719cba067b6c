import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { leaveRest } from "../transport/request.ts";
import { cutOff } from "../transport/whole-reply.ts";
import { replyHeaders } from "./header.ts";
import { sendLong } from "./long-reply.ts";
import { pump } from "./pump.ts";

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
