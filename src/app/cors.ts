import { cors as connectCors } from "@connectrpc/connect";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { errorEnvelope } from "../gateway/failure.ts";
import { JSON_TYPE } from "../gateway/serialize.ts";

/** Options of cross-origin requests. */
export interface CorsOptions {
  /** `*` for all, or origins such as `https://files.example.org`. */
  readonly origins: "*" | readonly string[];
}

/**
 * Makes a Fastify application answer preflights and mark its replies for pages of other origins, on
 * every path (Fetch standard, section 3.2). No credentials mode: cookies are not used, so `*`
 * reveals nothing.
 *
 * @throws Error that names an invalid origin.
 */
export function registerCors(fastify: FastifyInstance, options: CorsOptions): void {
  const allowed = options.origins === "*" ? "*" : new Set(options.origins.map(readOrigin));
  if (allowed !== "*" && allowed.size === 0) return;
  fastify.addHook("onRequest", (request, reply, done) => {
    const { origin } = request.headers;
    const mayCall = isAllowed(allowed, origin);
    if (allowed !== "*") reply.header("vary", "Origin");
    if (origin !== undefined && mayCall) {
      reply.header("access-control-allow-origin", allowed === "*" ? "*" : origin);
      reply.header("access-control-expose-headers", EXPOSED_HEADERS);
    }
    if (!isPreflight(request)) return done();
    if (mayCall) reply.code(204).headers(PREFLIGHT_HEADERS).send();
    else
      reply
        .code(403)
        .type(JSON_TYPE)
        .send(errorEnvelope(403, "this origin is not allowed (MOORING_CORS_ORIGINS)"));
  });
}

/** Time for which browsers keep the answer to a preflight, in seconds. */
const MAX_AGE = 7_200;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

// `*` does not cover Authorization, and old browsers do not support it: known headers are listed.
const REQUEST_HEADERS = [
  "*",
  "Authorization",
  "If-None-Match",
  "If-Match",
  "Last-Event-ID",
  "X-Request-Id",
  "Mooring-At-Least-Revision",
  ...connectCors.allowedHeaders,
];

const EXPOSED_HEADERS = [
  "ETag",
  "X-Request-Id",
  "Retry-After",
  "Error-Reason",
  "Error-Metadata",
  "Mooring-Stale-Seconds",
  "Mooring-Upstream",
  ...connectCors.exposedHeaders,
].join(", ");

type Allowed = "*" | ReadonlySet<string>;

/** Headers of the answer to a preflight. */
const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": METHODS.join(", "),
  "access-control-allow-headers": REQUEST_HEADERS.join(", "),
  "access-control-max-age": String(MAX_AGE),
};

function isPreflight({ method, headers }: FastifyRequest): boolean {
  if (method !== "OPTIONS" || headers.origin === undefined) return false;
  return headers["access-control-request-method"] !== undefined;
}

function isAllowed(allowed: Allowed, origin: string | undefined): boolean {
  return allowed === "*" || (origin !== undefined && allowed.has(origin));
}

function readOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = text.replace(/\/$/, "");
  if (url && url.origin !== "null" && url.host !== "" && bare.toLowerCase() === url.origin) {
    return url.origin;
  }
  throw new Error(
    `"${text}" is no origin: write scheme, host and port, such as https://example.org`,
  );
}
