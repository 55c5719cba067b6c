import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Writable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { type Incoming, readBody } from "../transport/body.ts";
import { type BodyPieces, readPieces } from "../transport/body-pieces.ts";
import { announcesBody, hasEnded, withoutOrigin } from "../transport/request.ts";
import { replyIsMade, type SlowReaders } from "../transport/slow-reader.ts";
import type { BodyReading, Http, ReplyHeaders } from "./exchange.ts";
import { nodeSink, type Sink } from "./stream.ts";

/** A request and a response of Fastify, over HTTP/1.1 or HTTP/2. */
export class NodeHttp implements Http {
  readonly path: string;
  readonly query: string;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #slow: SlowReaders;
  #pieces: BodyPieces | undefined;

  /** @param prefix of the path, which the gateway's rules do not have. */
  constructor(request: FastifyRequest, reply: FastifyReply, slow: SlowReaders, prefix: string) {
    this.#request = request;
    this.#reply = reply;
    this.#slow = slow;
    const { path, query } = pathAndQuery(request);
    this.path = path.slice(prefix.length);
    this.query = query;
  }

  get id(): string {
    return this.#request.id;
  }

  get method(): string {
    return this.#request.raw.method ?? "";
  }

  get url(): string {
    const { headers, url } = this.#request.raw;
    return `http://${headers.host ?? headers[":authority"] ?? "localhost"}${url}`;
  }

  get address(): string | undefined {
    return this.#request.raw.socket?.remoteAddress;
  }

  header(name: string): string | undefined {
    const value = this.#request.raw.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  *headers(): Iterable<readonly [string, string]> {
    for (const [name, value] of Object.entries(this.#request.raw.headers)) {
      if (name.startsWith(":") || value === undefined) continue;
      for (const one of Array.isArray(value) ? value : [value]) yield [name, one];
    }
  }

  get hasBody(): boolean {
    return announcesBody(this.#request.raw);
  }

  readBody<T>(reading: BodyReading, use: (body: Buffer) => T | Promise<T>): Promise<T> {
    return readBody(this.#incoming(reading), reading.bounds, reading.limit, use);
  }

  readPieces(reading: BodyReading): BodyPieces {
    this.#pieces = readPieces(this.#incoming(reading), reading.bounds);
    return this.#pieces;
  }

  #incoming({ peer, signal }: BodyReading): Incoming {
    const { raw } = this.#request;
    if (this.#waitsForContinue) this.#response.writeContinue();
    return { stream: raw, peer, signal, hasEnded: (bytes) => this.#isWhole(bytes) };
  }

  /**
   * Whether the client waits for status 100 before it sends the body (RFC 9110, section 10.1.1).
   * Node sends it before the request gets here, unless the server listens for `checkContinue`.
   */
  get #waitsForContinue(): boolean {
    const { raw, server } = this.#request;
    if (!/100-continue/i.test(raw.headers.expect ?? "")) return false;
    const { stream } = this.#response as { stream?: ServerHttp2Stream };
    if (stream !== undefined) return (stream.sentInfoHeaders?.length ?? 0) === 0;
    return server.server.listenerCount("checkContinue") > 0;
  }

  #isWhole(bytes: number): boolean {
    const { raw } = this.#request;
    const length = raw.headers["content-length"];
    if (length !== undefined && Number(length) !== bytes) return false;
    return hasEnded(raw);
  }

  get #response(): ServerResponse {
    return this.#reply.raw;
  }

  /** The response of an HTTP/2 stream does not report that its stream was destroyed. */
  get isGone(): boolean {
    const { stream } = this.#response as { stream?: { readonly destroyed: boolean } };
    return this.#response.destroyed || stream?.destroyed === true;
  }

  onGone(gone: () => void): void {
    if (this.isGone) gone();
    else this.#response.once("close", gone);
  }

  get isBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a reply with the headers set by hooks. */
  respond(status: number, headers: ReplyHeaders, body: Buffer | string): void {
    if (this.isBegun || this.isGone) return;
    if (typeof body !== "string") this.#slow.hold(this.#writable, body);
    this.#response.writeHead(status, this.#merge(headers));
    this.#response.end(body);
  }

  begin(headers: ReplyHeaders): void {
    this.#reply.hijack();
    // The server's idle time-out is for requests; streams have their own limits.
    this.#response.setTimeout(0);
    this.#response.writeHead(200, this.#merge(headers));
    this.#response.flushHeaders();
  }

  /** Headers of hooks and of the reply, which take precedence; `Vary` of both is combined. */
  #merge(headers: ReplyHeaders): OutgoingHttpHeaders {
    const merged = this.#reply.getHeaders() as OutgoingHttpHeaders;
    const { vary } = merged;
    Object.assign(merged, headers);
    if (typeof vary === "string" && headers["vary"] !== undefined)
      merged["vary"] = `${headers["vary"]}, ${vary}`;
    return merged;
  }

  /** Over HTTP/2 the stream of the response. */
  get #writable(): Writable {
    return (this.#response as { stream?: Writable }).stream ?? this.#response;
  }

  get sink(): Sink {
    return nodeSink(this.#slow, this.#writable);
  }

  end(last?: Buffer | string): void {
    this.#response.end(last);
  }

  destroy(): void {
    this.#response.destroy();
  }

  finish(): void {
    this.#pieces?.stop();
    // Over HTTP/2 a large reply is sent piece by piece, at the speed of its client.
    if (!this.#response.writableEnded) replyIsMade(this.#writable);
  }
}

/** Path and query of the request target. */
export function pathAndQuery({ raw }: Pick<FastifyRequest, "raw">): {
  readonly path: string;
  readonly query: string;
} {
  const url = withoutOrigin(raw.url ?? "");
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return { path, query: mark < 0 ? "" : url.slice(mark + 1) };
}
