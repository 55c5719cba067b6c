import type { IncomingMessage } from "node:http";
import { announcesBody } from "../transport/request.ts";

/** Hop-by-hop headers (RFC 9110, section 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Headers of framing and routing. `Connection` must not remove them: the rest of a body would
 * become the next request.
 */
const KEPT: ReadonlySet<string> = new Set(["content-length", "host"]);

/** Headers of a request's origin: the upstream trusts them, so clients must not set them. */
const ORIGIN: ReadonlySet<string> = new Set([
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-forwarded-server",
  "x-real-ip",
]);

/** Origin of a request, as sent to the upstream. */
export interface Origin {
  /** The client's address, without port. */
  readonly peer: string;
  readonly scheme: string;
  /** The requested host, if it differs from the header Host. */
  readonly host?: string;
}

/** Additional headers. */
export interface Forwarding extends Origin {
  /** Name of this process in `Via` (RFC 9110, section 7.6.3). */
  readonly via: string;
  /** The one header `authorization` to forward; undefined: none. */
  readonly authorization: string | undefined;
}

/**
 * Headers of a request for the upstream, names and values alternating: unchanged, without hop-by-hop
 * headers; Host is kept, headers of the origin are replaced.
 */
export function requestHeaders(request: IncomingMessage, origin: Forwarding): string[] {
  const headers = passed(
    request.rawHeaders,
    (name) => ORIGIN.has(name) || name === "expect" || name === "authorization",
  );
  if (origin.authorization !== undefined) headers.push("Authorization", origin.authorization);
  const host = request.headers.host ?? String(request.headers[":authority"] ?? "");
  if (request.headers.host === undefined && host !== "") headers.push("Host", host);
  headers.push("X-Forwarded-For", origin.peer, "X-Forwarded-Proto", origin.scheme);
  const asked = origin.host ?? host;
  if (asked !== "") headers.push("X-Forwarded-Host", asked);
  headers.push("Via", `${request.httpVersion} ${origin.via}`);
  // The length is unknown, and the method may not imply a body.
  if (announcesBody(request) && request.headers["content-length"] === undefined)
    headers.push("Transfer-Encoding", "chunked");
  return headers;
}

/** Headers of a reply without hop-by-hop headers. */
export function replyHeaders(reply: IncomingMessage): string[] {
  return passed(reply.rawHeaders, () => false);
}

/** Names and values alternating, without hop-by-hop headers and those that `Connection` names. */
function passed(raw: readonly string[], isDropped: (name: string) => boolean): string[] {
  const named = new Set<string>();
  for (let at = 0; at < raw.length; at += 2)
    if (raw[at]?.toLowerCase() === "connection")
      for (const token of (raw[at + 1] ?? "").split(",")) named.add(token.trim().toLowerCase());
  for (const name of KEPT) named.delete(name);
  const kept: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    if (name.startsWith(":") || HOP_BY_HOP.has(name) || named.has(name) || isDropped(name))
      continue;
    kept.push(raw[at] ?? "", raw[at + 1] ?? "");
  }
  return kept;
}
