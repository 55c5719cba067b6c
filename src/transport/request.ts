import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type ServerHttp2Stream } from "node:http2";
import { discardRest } from "./body.ts";

/** The HTTP/2 stream of a request; undefined over HTTP/1.1. */
function streamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return (request as unknown as Partial<Http2ServerRequest>).stream;
}

/**
 * Reports whether a request announces a body: by its headers (RFC 9112, section 6.3), over HTTP/2
 * by a missing END_STREAM flag.
 */
export function announcesBody(request: IncomingMessage): boolean {
  const stream = streamOf(request);
  if (stream !== undefined) return !stream.endAfterHeaders;
  const { headers } = request;
  if (headers["transfer-encoding"] !== undefined) return true;
  return headers["content-length"] !== undefined && headers["content-length"] !== "0";
}

/**
 * Reports whether a request is complete, at its event `end`: over HTTP/2 Node emits that, with
 * `complete`, also when the stream was reset or its connection is lost.
 */
export function hasEnded(request: IncomingMessage): boolean {
  const stream = streamOf(request);
  // Requests of Fastify's `inject` are always complete, and do not have the property.
  if (stream === undefined) return request.complete !== false;
  return !(stream.closed || stream.destroyed || stream.aborted);
}

/**
 * Discards the rest of a request's body before an early reply, so that the client reads the reply;
 * above the limits of discardRest the connection is closed.
 */
export function leaveRest(request: IncomingMessage): void {
  if (!announcesBody(request) || request.readableEnded) return;
  const stream = streamOf(request);
  // Over HTTP/2 the client gets RST_STREAM(NO_ERROR) (RFC 9113, section 8.1).
  discardRest(request, () => {
    if (stream) stream.close(constants.NGHTTP2_NO_ERROR);
    else request.socket.destroy();
  });
  if (stream === undefined) closeAfterRest(request);
}

const LEAVES = Symbol("leaves the rest");

/**
 * Drains the unread body of a request that is answered early. This is checked when the reply ends,
 * because over HTTP/2 a reply without a body emits no event.
 */
export function drainUnreadBody(
  request: IncomingMessage,
  response: ServerResponse & { [LEAVES]?: true },
): void {
  // The gateway calls it for its routes, and the HTTP server for all requests.
  if (response[LEAVES] || !announcesBody(request)) return;
  response[LEAVES] = true;
  const { end } = response;
  // A constant first: V8 allocates a function that is assigned to a property as it is created in old
  // space, where it keeps request and response until the next full garbage collection.
  const endAndLeave = (...rest: unknown[]): ServerResponse => {
    // Restored, not deleted: deleting a property makes an object slow.
    response.end = end;
    leaveRest(request);
    return response.end(...(rest as []));
  };
  response.end = endAndLeave;
}

/** Creates a listener that answers with a status and no body. */
export function refuseWith(status: number) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    drainUnreadBody(request, response);
    response.writeHead(status).end();
  };
}

/**
 * Makes Node close its side first when it ends a connection after this request. If it closed the
 * connection with unread bytes, the system would reset it, and the client might lose the reply (RFC
 * 9112, section 9.6).
 */
function closeAfterRest(request: IncomingMessage): void {
  const { socket } = request;
  socket.destroySoon = () => void socket.end();
  request.once("end", () => {
    Reflect.deleteProperty(socket, "destroySoon");
    if (socket.writableEnded) socket.destroySoon();
  });
}

/** Reports whether the client has disconnected. */
export function isGone(request: IncomingMessage): boolean {
  return (streamOf(request) ?? request.socket).destroyed;
}

/** Path and query of a request target, which may be in absolute-form (RFC 9112, section 3.2.2). */
export function withoutOrigin(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
}

/** Sends a complete reply with additional headers. */
type Refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>>,
) => void;

const ABSOLUTE = /^https?:\/\/([^/?#]+)/i;

/**
 * Converts a request target to origin-form (RFC 9112, section 3.2). An invalid target or authority is
 * answered with 400 before a route or an upstream sees the request, and `OPTIONS *`, which concerns the
 * server, with 204.
 *
 * @param requestId returns the id of a request that is answered here.
 * @param refuse sends the reply to an invalid target.
 * @returns true if the request was answered.
 */
export function settleTarget(
  request: IncomingMessage,
  response: ServerResponse,
  requestId: (sent: string | undefined) => string,
  refuse: Refuse,
): boolean {
  const { url = "", method, headers, httpVersionMajor } = request;
  const isOptions = method === "OPTIONS" && url === "*";
  const absolute = httpVersionMajor === 1 ? ABSOLUTE.exec(url) : null;
  const problem =
    (isOptions ? undefined : targetProblem(url, absolute !== null)) ??
    authorityProblem(request, absolute?.[1]);
  if (problem === undefined && !isOptions) {
    if (absolute !== null) {
      request.url = originForm(url.slice(absolute[0].length));
      setHost(request, absolute[1] ?? "");
    }
    return false;
  }
  const sent = headers["x-request-id"];
  const own = { "x-request-id": requestId(typeof sent === "string" ? sent : undefined) };
  if (problem === undefined) {
    drainUnreadBody(request, response);
    response.writeHead(204, own).end();
  } else refuse(request, response, 400, problem, own);
  return true;
}

/** The host of a target in absolute-form replaces the Host header (RFC 9112, section 3.2.2). */
function setHost({ headers, rawHeaders }: IncomingMessage, host: string): void {
  headers.host = host;
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && /^host$/i.test(name));
  if (at < 0) rawHeaders.push("Host", host);
  else rawHeaders[at + 1] = host;
}

function originForm(rest: string): string {
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/**
 * Valid characters of a target: no fragment, and only characters of URLs (RFC 3986), because HTTP/2
 * transports any byte. A query may have non-ASCII letters, which some clients do not escape.
 */
const TARGET = /^[!"$->@-~]*(?:\?[!"$-~\xa0-\uffff]*)?$/;

function targetProblem(url: string, isAbsolute: boolean): string | undefined {
  if (!isAbsolute && !url.startsWith("/"))
    return "the request target must be a path that begins with / or an http or https URL";
  if (!TARGET.test(url))
    return "the request target has a character that a URL cannot contain: percent-encode it";
  return undefined;
}

/** Characters of a host with an optional port (RFC 3986, section 3.2); no user information. */
const AUTHORITY = /^[\w.~!$&'()*+;=:%[\]-]*$/;

/**
 * @param target the authority of a target in absolute-form.
 * @returns a problem of the request's host (RFC 9112, section 3.2; RFC 9113, section 8.3.1);
 *   undefined: none.
 */
function authorityProblem(
  { rawHeaders, headers, httpVersion }: IncomingMessage,
  target: string | undefined,
): string | undefined {
  const scheme = headers[":scheme"];
  if (scheme !== undefined && scheme !== "http" && scheme !== "https")
    return "the scheme must be http or https";
  const hosts = hostsOf(rawHeaders);
  if (hosts.length > 1 || (hosts.length === 0 && httpVersion === "1.1"))
    return "give one Host header";
  const authority = headers[":authority"]?.toString();
  if (authority !== undefined && !sameAuthority(hosts[0], authority))
    return "the Host header differs from :authority";
  const named = target ?? authority ?? hosts[0] ?? "";
  return AUTHORITY.test(named) ? undefined : "the host is invalid";
}

/**
 * Reports whether the Host header of an HTTP/2 request equals its `:authority`, or one of them is
 * absent (RFC 9113, section 8.3.1).
 *
 * @param rawHeaders names and values in turn.
 */
export function agreesOnHost(
  rawHeaders: readonly string[],
  authority: string | undefined,
): boolean {
  const hosts = hostsOf(rawHeaders);
  if (hosts.length > 1) return false;
  return authority === undefined || sameAuthority(hosts[0], authority);
}

function sameAuthority(host: string | undefined, authority: string): boolean {
  return host === undefined || host === authority || host.toLowerCase() === authority.toLowerCase();
}

function hostsOf(rawHeaders: readonly string[]): string[] {
  const hosts: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === "host")
      hosts.push(rawHeaders[index + 1] ?? "");
  return hosts;
}
