import type { IncomingMessage, ServerResponse } from "node:http";
import { cors as connectCors } from "@connectrpc/connect";
import type { FastifyInstance } from "fastify";
import { errorEnvelope, JSON_TYPE } from "./envelope.ts";

/** Who may call from a page of another origin. */
export interface CorsOptions {
  /** `*` for everybody, or origins such as `https://files.example.org`. */
  readonly origins: "*" | readonly string[];
  /** How long a browser may keep the answer to a preflight, in seconds. Default 7,200. */
  readonly maxAge?: number;
}

/**
 * Cross-origin sharing for every door of the HTTP/1.1 server (Fetch standard, section 3.2). No
 * credentials mode: no cookies are used, so `*` gives nothing away.
 */
export interface Cors {
  /** Headers for a reply to this Origin, names and values by turns; `Vary` is none of them. */
  headers(origin: string | undefined): readonly string[];
  /** Replies differ by the Origin header: every one has to say so in `Vary`. */
  readonly varies: boolean;
  /** Answers the request when it is a preflight: 204, or 403 for an origin that is not listed. */
  preflight(request: IncomingMessage, response: ServerResponse, requestId: string): boolean;
}

/** @throws Error that names an entry which is no origin. */
export function createCors(options: CorsOptions): Cors {
  const allowed = options.origins === "*" ? "*" : new Set(options.origins.map(readOrigin));
  const headers = createHeaders(allowed);
  const permissions = createPermissions(options.maxAge ?? DEFAULT_MAX_AGE);
  const varies = allowed !== "*";
  const vary = varies ? ["Vary", "Origin"] : [];
  return {
    headers,
    varies,
    preflight: (request, response, requestId) => {
      if (!isPreflight(request)) return false;
      const { origin } = request.headers;
      const common = [...headers(origin), ...vary, "X-Request-Id", requestId];
      if (isAllowed(allowed, origin)) response.writeHead(204, [...common, ...permissions]).end();
      else refuse(response, common);
      return true;
    },
  };
}

/**
 * Lets a Fastify server answer preflights and mark its replies, also those of plugins that write to
 * the raw response (connect-fastify does), unknown paths and errors.
 */
export function registerCors(fastify: FastifyInstance, cors: Cors): void {
  fastify.addHook("onRequest", (request, reply, done) => {
    if (cors.preflight(request.raw, reply.raw, request.id)) {
      reply.hijack();
      return;
    }
    const pairs = cors.headers(request.headers.origin);
    for (let index = 0; index < pairs.length; index += 2) {
      reply.raw.setHeader(pairs[index] ?? "", pairs[index + 1] ?? "");
    }
    if (cors.varies) reply.raw.setHeader("Vary", "Origin");
    done();
  });
}

const DEFAULT_MAX_AGE = 7_200;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

// Named one by one, because * covers neither Authorization nor old browsers; * for any others.
const REQUEST_HEADERS = [
  "*",
  "Authorization",
  "If-None-Match",
  "If-Match",
  "Last-Event-ID",
  "X-Request-Id",
  ...connectCors.allowedHeaders,
];

const EXPOSED_HEADERS = ["ETag", "X-Request-Id", "Retry-After", ...connectCors.exposedHeaders];

type Allowed = "*" | ReadonlySet<string>;

function createHeaders(allowed: Allowed): Cors["headers"] {
  const exposed = ["Access-Control-Expose-Headers", EXPOSED_HEADERS.join(", ")];
  const everybody = ["Access-Control-Allow-Origin", "*", ...exposed];
  return (origin) => {
    if (origin === undefined || !isAllowed(allowed, origin)) return NOTHING;
    return allowed === "*" ? everybody : ["Access-Control-Allow-Origin", origin, ...exposed];
  };
}

const NOTHING: readonly string[] = [];

function createPermissions(maxAge: number): string[] {
  return [
    "Access-Control-Allow-Methods",
    METHODS.join(", "),
    "Access-Control-Allow-Headers",
    REQUEST_HEADERS.join(", "),
    "Access-Control-Max-Age",
    String(maxAge),
  ];
}

function isPreflight(request: IncomingMessage): boolean {
  if (request.method !== "OPTIONS" || request.headers.origin === undefined) return false;
  return request.headers["access-control-request-method"] !== undefined;
}

function isAllowed(allowed: Allowed, origin: string | undefined): boolean {
  return allowed === "*" || (origin !== undefined && allowed.has(origin));
}

function refuse(response: ServerResponse, common: readonly string[]): void {
  const body = errorEnvelope(403, "this origin may not call here");
  const length = String(Buffer.byteLength(body));
  response.writeHead(403, [...common, "Content-Type", JSON_TYPE, "Content-Length", length]);
  response.end(body);
}

function readOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = text.replace(/\/$/, "");
  if (url && url.origin !== "null" && url.host !== "" && bare.toLowerCase() === url.origin) {
    return url.origin;
  }
  throw new Error(`"${text}" is no origin: write scheme, host and port, as https://example.org`);
}
