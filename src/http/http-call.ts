import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";
import type { DescMethod } from "@bufbuild/protobuf";
import type { FastifyReply } from "fastify";
import { type BodyBounds, discardRest, readBody } from "../rpc/body.ts";
import { Call, type Door } from "../rpc/call.ts";
import type { PeerOf } from "../rpc/peer.ts";

/** A call that came as an HTTP request, over HTTP/1.1 or HTTP/2. */
export class HttpCall extends Call {
  readonly door: Door;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #peerOf: PeerOf;
  #ended = false;

  constructor(
    method: DescMethod,
    door: Door,
    parts: {
      readonly request: IncomingMessage;
      readonly response: ServerResponse;
      readonly id: string;
      readonly peerOf: PeerOf;
    },
  ) {
    super(method, parts.id);
    this.door = door;
    this.request = parts.request;
    this.response = parts.response;
    this.#peerOf = parts.peerOf;
  }

  get requestMethod(): string {
    return this.request.method ?? "";
  }

  get url(): string {
    const host = this.request.headers.host ?? this.request.headers[":authority"] ?? "localhost";
    return `http://${host}${this.request.url}`;
  }

  protected address(): string {
    return this.#peerOf(this.request.socket?.remoteAddress, (name) => this.header(name));
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  protected headers(): Headers {
    const headers = new Headers();
    for (const [name, value] of Object.entries(this.request.headers)) {
      if (name.startsWith(":") || value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
    }
    return headers;
  }

  protected onGone(gone: () => void): void {
    const { response } = this;
    if (isGone(response)) gone();
    else response.once("close", gone);
  }

  /**
   * Whether a request announces a body: by its headers (RFC 9112, section 6.3), over HTTP/2 by not
   * ending with them.
   */
  get hasBody(): boolean {
    const stream = streamOf(this.request);
    if (stream !== undefined) return !stream.endAfterHeaders;
    const { headers } = this.request;
    if (headers["transfer-encoding"] !== undefined) return true;
    return headers["content-length"] !== undefined && headers["content-length"] !== "0";
  }

  /**
   * Reads the request's body to its end.
   *
   * @param limit in bytes.
   * @throws as readBody does.
   */
  async body<T>(bounds: BodyBounds, limit: number, use: (body: Buffer) => T | Promise<T>) {
    const { request, response, peer } = this;
    // A client that waits for this word sends nothing before it (RFC 9110, section 10.1.1).
    if (/100-continue/i.test(request.headers.expect ?? "")) response.writeContinue();
    const hasEnded = (bytes: number): boolean => {
      this.#ended = this.#isWhole(bytes);
      return this.#ended;
    };
    const incoming = {
      stream: request,
      peer,
      hasEnded,
      ...(this.limited ? { signal: this.signal } : {}),
    };
    return readBody(incoming, bounds, limit, use);
  }

  /** For a reply that does not wait for the body: the rest is thrown away, or its client cut off. */
  leaveRest(): void {
    if (this.#ended || !this.hasBody) return;
    const { request } = this;
    const stream = streamOf(request);
    // Over HTTP/2 a client learns that nobody wants the rest (RFC 9113, section 8.1).
    discardRest(request, () => {
      if (stream) stream.close(constants.NGHTTP2_NO_ERROR);
      else request.socket.destroy();
    });
    if (stream === undefined) closeAfterRest(request);
  }

  #isWhole(bytes: number): boolean {
    const { request } = this;
    const length = request.headers["content-length"];
    if (length !== undefined && Number(length) !== bytes) return false;
    return hasEnded(request);
  }
}

/**
 * Lets Node end a connection after this request by closing its own side first. Closed as a whole with
 * bytes unread, the system would reset it, and the client might lose the reply (RFC 9112, section 9.6).
 */
function closeAfterRest(request: IncomingMessage): void {
  const { socket } = request;
  // Nothing comes that would end what is left open here.
  if (request.readableEnded) return;
  socket.destroySoon = () => void socket.end();
  request.once("end", () => {
    Reflect.deleteProperty(socket, "destroySoon");
    if (socket.writableEnded) socket.destroySoon();
  });
}

/**
 * Whether a request has come to its end, asked at its event `end`: over HTTP/2 Node emits that, and
 * says `complete`, also when the stream was reset or its connection is gone.
 */
export function hasEnded(request: IncomingMessage): boolean {
  const stream = streamOf(request);
  if (stream === undefined) return request.complete;
  return !(stream.closed || stream.destroyed || stream.aborted);
}

/** The HTTP/2 stream of a request; undefined over HTTP/1.1. */
function streamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return (request as unknown as Partial<Http2ServerRequest>).stream;
}

/** Whether nobody is left to read a reply. The response of an HTTP/2 stream doesn't say so itself. */
export function isGone(response: ServerResponse): boolean {
  const { stream } = response as { stream?: { readonly destroyed: boolean } };
  return response.destroyed || stream?.destroyed === true;
}

/** What really takes a reply's bytes: over HTTP/2 the stream behind the response. */
export function sinkOf(response: ServerResponse): Writable {
  return (response as { stream?: Writable }).stream ?? response;
}

/** Begins a reply that is a stream, with the headers that hooks have set and its own. */
export function openStream(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  const response = reply.raw;
  reply.hijack();
  // The server's idle time-out is for requests; others watch over streams.
  response.setTimeout(0);
  const set = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
  response.writeHead(200, { ...(Object.fromEntries(set) as OutgoingHttpHeaders), ...headers });
  response.flushHeaders();
}

/** Whether a request says twice where it goes: two opinions of that (RFC 9112, section 3.2). */
export function hasTwoHosts({ rawHeaders, httpVersionMajor }: IncomingMessage): boolean {
  if (httpVersionMajor !== 1) return false;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host") hosts += 1;
  return hosts > 1;
}
