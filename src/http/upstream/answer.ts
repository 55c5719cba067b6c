import type { IncomingMessage, ServerResponse } from "node:http";
import { leaveRest, streamOf } from "../request.ts";
import { replyHeaders } from "./header.ts";
import { pump } from "./pump.ts";

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly hasBody: boolean;
  readonly taker: ((body: Buffer) => Promise<void>) | undefined;
  /** Passes no more of the request's body. */
  readonly stop: () => void;
}

/** Sends the reply of the server behind. @throws Error when its head is none that can be sent. */
export function answer(reply: IncomingMessage, exchange: Exchange): void {
  const { request, response, hasBody, taker, stop } = exchange;
  const isEarly = hasBody && !request.complete;
  if (isEarly) {
    closeAfter(exchange);
    // It will read no more: the rest would wait for ever.
    if (/\bclose\b/i.test(reply.headers.connection ?? "")) {
      stop();
      request.resume();
    }
  }
  response.sendDate = false;
  writeHead(response, reply);
  reply.on("error", () => response.destroy());
  reply.once("close", () => {
    if (!reply.complete) response.destroy();
  });
  if (taker === undefined) return void pump(reply, response);
  collect(reply)
    .then(async (body) => {
      await taker(body);
      response.end(body);
    })
    .catch(() => response.destroy());
}

/**
 * For a reply that comes before the request has ended: once it is sent, nobody waits for the rest. A
 * connection can't be used again, but over HTTP/2, where its stream ends alone.
 */
function closeAfter({ request, response, stop }: Exchange): void {
  if (request.httpVersionMajor === 1) response.shouldKeepAlive = false;
  // Over HTTP/2 a response says so only when its stream is closed. Before Node's own listener, which
  // closes the connection.
  (streamOf(request) ?? response).prependOnceListener("finish", () => {
    if (request.complete) return;
    stop();
    leaveRest(request);
  });
}

/** Largest reply that is held until what follows from it is done, in bytes. */
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
    response.writeHead(statusCode, statusMessage, headers);
    return;
  }
  const byName: Record<string, string[]> = {};
  for (let at = 0; at < headers.length; at += 2) {
    const name = (headers[at] ?? "").toLowerCase();
    byName[name] = [...(byName[name] ?? []), headers[at + 1] ?? ""];
  }
  response.writeHead(statusCode, byName);
}
