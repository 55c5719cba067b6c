import type { IncomingMessage, ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { DescMethod } from "@bufbuild/protobuf";
import { type BodyBounds, readBody } from "../transport/body.ts";
import type { PeerOf } from "../transport/peer.ts";
import { announcesBody, hasEnded } from "../transport/request.ts";
import { Call, type Door } from "./call.ts";

/** A call that came as an HTTP request, over HTTP/1.1 or HTTP/2. */
export class HttpCall extends Call {
  readonly door: Door;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #peerOf: PeerOf;
  readonly #passesIn: ((name: string) => boolean) | undefined;
  /** Which headers of the rpc go out; undefined: all. */
  readonly passesOut: ((name: string) => boolean) | undefined;

  constructor(
    method: DescMethod,
    door: Door,
    parts: {
      readonly request: IncomingMessage;
      readonly response: ServerResponse;
      readonly id: string;
      readonly peerOf: PeerOf;
      readonly requestHeader?: ((name: string) => boolean) | undefined;
      readonly responseHeader?: ((name: string) => boolean) | undefined;
    },
  ) {
    super(method, parts.id);
    this.#passesIn = parts.requestHeader;
    this.passesOut = parts.responseHeader;
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
      if (this.#passesIn?.(name) === false) continue;
      for (const one of Array.isArray(value) ? value : [value]) headers.append(name, one);
    }
    return headers;
  }

  protected onGone(gone: () => void): void {
    const { response } = this;
    if (isGone(response)) gone();
    else response.once("close", gone);
  }

  /** Whether its request announces a body. */
  get hasBody(): boolean {
    return announcesBody(this.request);
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
    const incoming = {
      ...{ stream: request, peer, hasEnded: (bytes: number) => this.#isWhole(bytes) },
      ...(this.limited ? { signal: this.signal } : {}),
    };
    return readBody(incoming, bounds, limit, use);
  }

  #isWhole(bytes: number): boolean {
    const { request } = this;
    const length = request.headers["content-length"];
    if (length !== undefined && Number(length) !== bytes) return false;
    return hasEnded(request);
  }
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

/** Headers that a handler or interceptor has set, for a reply. */
export function entriesOf({
  setHeader,
  passesOut,
}: Pick<HttpCall, "setHeader" | "passesOut">): Record<string, HeaderValue> {
  if (setHeader === undefined) return {};
  const all = [...setHeader];
  const entries: Record<string, HeaderValue> = Object.fromEntries(
    passesOut === undefined ? all : all.filter(([name]) => passesOut(name)),
  );
  if ("set-cookie" in entries) entries["set-cookie"] = setHeader.getSetCookie();
  return entries;
}

/** Trailers that it has set, as headers of a whole reply (Connect protocol, "Unary-Trailers"). */
export function trailersOf({
  setTrailer,
  passesOut,
}: Pick<HttpCall, "setTrailer" | "passesOut">): Record<string, string> {
  return Object.fromEntries(
    [...(setTrailer ?? [])].flatMap(([name, value]) =>
      passesOut?.(name) === false ? [] : [[`trailer-${name}`, value]],
    ),
  );
}

type HeaderValue = string | string[];
