import type { IncomingMessage } from "node:http";
import { announcesBody } from "../transport/request.ts";

/** For one connection only (RFC 9110, section 7.6.1). */
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
 * What says where a message ends and whom it is for. Nobody may take it away by naming it in
 * `Connection`: the rest of a body would be the next request.
 */
const KEPT: ReadonlySet<string> = new Set(["content-length", "host"]);

/** What says where a request came from: a server behind believes it, so nobody else may say it. */
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

/** Where a request came from, as the server behind is told. */
export interface Origin {
  /** The client's address, without port. */
  readonly peer: string;
  readonly scheme: string;
  /** The host that was asked for, where it is not the header Host. */
  readonly host?: string;
}

/** What is said besides. */
export interface Forwarding extends Origin {
  /** Names this process (RFC 9110, section 7.6.3). */
  readonly via: string;
  /** The one header `authorization` that goes on; undefined: none. */
  readonly authorization: string | undefined;
}

/**
 * The headers of a request for the server behind, names and values in turn: as they came, but those
 * of the connection; Host is kept, where it came from is overwritten.
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
  // The length is not known, and the method may have no body by itself.
  if (announcesBody(request) && request.headers["content-length"] === undefined)
    headers.push("Transfer-Encoding", "chunked");
  return headers;
}

/** The headers of a reply, likewise. */
export function replyHeaders(reply: IncomingMessage): string[] {
  return passed(reply.rawHeaders, () => false);
}

/** Names and values in turn, without those of the connection and those that it names. */
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
