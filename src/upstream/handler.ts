import type { IncomingMessage, ServerResponse } from "node:http";
import { readToken } from "../access/authenticate.ts";
import { errorEnvelope } from "../gateway/failure.ts";
import { JSON_TYPE } from "../gateway/serialize.ts";
import { waitAtMost } from "../pause.ts";
import type { Pipe } from "../proxy/pipe.ts";
import { sendWhole } from "../transport/whole-reply.ts";
import type { ForwardedCall } from "./forwarding.ts";
import type { Upstream } from "./upstream.ts";

/** Members of the upstream for requests that pass. */
type UpstreamEvents = Pick<
  Upstream,
  | "isReady"
  | "forget"
  | "identify"
  | "adminRequest"
  | "forwardChange"
  | "forwardMountChange"
  | "tokenReset"
>;

interface UpstreamHandlerOptions {
  readonly pipe: Pipe;
  /** Path prefix of the upstream, such as `/sub`; empty: none. */
  readonly base: string;
  /** Exact paths of the contract's routes. */
  readonly restPaths: ReadonlySet<string>;
  /** Exact paths of its services, such as `/acme.v1.BookService/GetBook`. */
  readonly servicePaths: ReadonlySet<string>;
  /** Id and client of a request, as calls of the contract have them. */
  readonly requestId: (sent: string | undefined) => string;
  readonly peerOf: (request: IncomingMessage) => string;
  readonly events: UpstreamEvents;
}

/** Own pages are below this path only: any other path may be a folder of the upstream. */
export const OWN_PAGES = "/@mooring";
/** Prefix of the login paths: also with a hash, or by LDAP. */
const LOGIN = "/api/auth/login";
const RESET_TOKEN = "/api/admin/setting/reset_token";

/** Paths that the upstream serves too; they are forwarded until its settings were adopted. */
const SHARED: ReadonlySet<string> = new Set([
  "/api/public/settings",
  ...["list", "names", "info"].map((name) => `/api/admin/driver/${name}`),
  ...["list", "get", "save", "delete", "set_aria2", "set_qbit"].map(
    (name) => `/api/admin/setting/${name}`,
  ),
]);

/** Prefixes of paths that may change rights or settings. */
const WATCHED = ["/api/admin", "/api/auth", "/api/me"];

/** Maximum delay of a reply until its change is adopted, in milliseconds. */
const HELD = 5_000;
/** Limit for one change to block others, including its request, in milliseconds. */
const LONGEST_CHANGE = 30_000;

/**
 * Routes requests: paths of the contract are served here, all others are forwarded to the upstream. A
 * path that a server may normalize to a path of the contract or a watched one is answered with 400.
 *
 * @returns a function that handles a request and returns true, or returns false for a request to this
 *   service, with its path as in the routes.
 */
export function createUpstreamHandler(options: UpstreamHandlerOptions) {
  const { pipe, base, restPaths, servicePaths, events, requestId, peerOf } = options;
  /** Path as in the contract; undefined: a path of the upstream. */
  const ownPath = (path: string): string | undefined => {
    if (path === OWN_PAGES || path.startsWith(`${OWN_PAGES}/`))
      return path.slice(OWN_PAGES.length) || "/";
    if (servicePaths.has(path)) return path;
    if (!path.startsWith(base)) return undefined;
    const inner = path.slice(base.length);
    if (!restPaths.has(inner) || inner === RESET_TOKEN) return undefined;
    if (SHARED.has(inner) && events.isReady() === false) return undefined;
    return inner;
  };
  const isGuarded = createPathGuard({
    exact: [...[...restPaths].filter(isApi).map((path) => base + path), ...servicePaths],
    below: WATCHED.map((folder) => base + folder),
  });
  /** Reports whether the upstream may read a path differently from the handler below. */
  const isDisguised = (raw: string, whole: string): boolean => {
    const inner = whole.startsWith(base) ? whole.slice(base.length) : "";
    return !isUnambiguous(withoutEndSlash(inner)) && isGuarded(raw);
  };

  /** Identifies the admin before forwarding, because the request may end its own login. */
  const adminOf = async (
    request: IncomingMessage,
    upstream: UpstreamEvents,
    path: string,
  ): Promise<ForwardedCall | undefined> => {
    const { headers } = request;
    // The address of a closed socket is unknown.
    const peer = peerOf(request);
    const visitor = await upstream.identify(
      readToken(headers.authorization),
      textOf(headers["client-id"]),
    );
    if (visitor.kind !== "admin") return undefined;
    return {
      visitor: visitor.name,
      call: path.slice(path.lastIndexOf("/") + 1).slice(0, 64),
      requestId: requestId(textOf(headers["x-request-id"])),
      peer,
    };
  };
  const passReset = async (
    request: IncomingMessage,
    response: ServerResponse,
    upstream: UpstreamEvents,
  ): Promise<void> => {
    const by = await adminOf(request, upstream, RESET_TOKEN);
    await pipe.pass(request, response, () => async (body) => {
      // The former token must not be accepted from memory.
      upstream.forget("all");
      const token = newToken(body);
      if (token !== undefined) await upstream.tokenReset(token, by);
    });
  };
  /** Delays the reply until the change is adopted: the client reads it at once. */
  const passChange = async (
    request: IncomingMessage,
    response: ServerResponse,
    upstream: UpstreamEvents,
    path: string,
    forwardChange: UpstreamEvents["forwardChange"],
  ): Promise<void> => {
    const by = await adminOf(request, upstream, path);
    // Only an admin can change anything: other requests are forwarded without a wait.
    if (by === undefined) return pipe.pass(request, response);
    const arrived = Promise.withResolvers<void>();
    const changed = forwardChange(() => {
      const over = pipe.pass(request, response, () => async () => {
        arrived.resolve();
        await waitAtMost(HELD, changed);
      });
      void over.then(() => arrived.resolve());
      return waitAtMost(LONGEST_CHANGE, arrived.promise);
    }, by);
    await changed;
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method = "", headers } = request;
    const target = request.url ?? "/";
    const end = target.indexOf("?");
    // As read by a server that decodes before routing, and in absolute form.
    const raw = end < 0 ? target : target.slice(0, end);
    const whole = decodePath(raw);
    const own = ownPath(whole) ?? ownPath(withoutEndSlash(whole));
    if (own === undefined && isDisguised(raw, whole)) {
      refuse(
        request,
        response,
        400,
        "the path is not in normal form: send it without dot segments, double slashes or unnecessary escapes",
      );
      return true;
    }
    const path = own ?? withoutEndSlash(whole.slice(base.length));
    const authorization = readToken(headers.authorization);
    if (authorization !== "" && path.startsWith("/api/admin/"))
      events.adminRequest(authorization, textOf(headers["client-id"]));
    if (own !== undefined) {
      const plain = raw.includes("%") ? own.split("/").map(encodeURIComponent).join("/") : own;
      request.url = end < 0 ? plain : `${plain}${target.slice(end)}`;
      return false;
    }
    // Without a token only a login can change anything.
    const isAnonymous = authorization === "" && !path.startsWith(LOGIN);
    if (isAnonymous || !path.startsWith("/api/")) void pipe.pass(request, response);
    else if (changesRights(method, path)) {
      const whom = path.startsWith(LOGIN) ? "refused" : "all";
      events.forget(whom);
      void pipe.pass(request, response, () => async () => events.forget(whom));
    } else if (method === "POST" && path === RESET_TOKEN)
      void passReset(request, response, events).catch(() => response.destroy());
    else if (method === "POST" && path.startsWith("/api/admin/setting/") && events.isReady())
      void passChange(request, response, events, path, events.forwardChange).catch(() =>
        response.destroy(),
      );
    else if (method === "POST" && path.startsWith("/api/admin/storage/"))
      void passChange(request, response, events, path, events.forwardMountChange).catch(() =>
        response.destroy(),
      );
    else void pipe.pass(request, response);
    return true;
  };
}

function changesRights(method: string, path: string): boolean {
  return (
    path === "/api/auth/logout" ||
    path.startsWith(LOGIN) ||
    path === "/api/me/update" ||
    // Reads are long, and do not change rights.
    (path.startsWith("/api/admin/user/") && method !== "GET" && method !== "HEAD")
  );
}

function isApi(path: string): boolean {
  return path.startsWith("/api/");
}

function newToken(body: Buffer): string | undefined {
  try {
    const { code, data } = JSON.parse(body.toString("utf8")) as { code?: unknown; data?: unknown };
    return code === 200 && typeof data === "string" && data !== "" ? data : undefined;
  } catch {
    return undefined;
  }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/**
 * Removes one level of percent-encoding. Invalid UTF-8 becomes U+FFFD; a percent sign without two hex
 * digits stays.
 */
function decodePath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    const bytes = path.replace(/%([\da-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return Buffer.from(bytes, "latin1").toString("utf8");
  }
}

/** A path without one slash at its end, which has no meaning for an API. */
function withoutEndSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** Reports whether every server reads a decoded path as it is written. */
function isUnambiguous(path: string): boolean {
  return /^(?:\/[\da-z_-][\da-z_.-]*)+$/.test(path);
}

/** Paths to guard, in any case. */
interface GuardedPaths {
  readonly exact: Iterable<string>;
  /** Each with everything below it. */
  readonly below: Iterable<string>;
}

/**
 * Creates a test whether any server may normalize a request path to a guarded one. Servers differ in
 * how often they decode, how they resolve dot segments and double slashes, and whether they ignore
 * case, path parameters or control characters or treat a backslash as a slash.
 *
 * @returns a function of the raw path without query. It has no false negatives; paths with a segment
 *   `..` may be false positives.
 */
function createPathGuard({ exact, below }: GuardedPaths): (path: string) => boolean {
  const exactPaths = new Set([...exact].map((path) => path.toLowerCase()));
  const folders = [...below].map((path) => path.toLowerCase());
  const guarded = [...exactPaths, ...folders].map(segmentsOf);
  const isGuarded = (segments: readonly string[]): boolean => {
    // Servers resolve `..` in different orders, and each result is a part of the segments.
    if (segments.includes("..")) return guarded.some((path) => contains(segments, path));
    const path = `/${segments.join("/")}`;
    return (
      exactPaths.has(path) ||
      folders.some((folder) => path === folder || path.startsWith(`${folder}/`))
    );
  };
  return (path) => readingsOf(path).some((reading) => isGuarded(segmentsOf(reading)));
}

/** Maximum number of decodings: each server in a chain may decode once. */
const MAX_LEVELS = 4;

/** Path after each level of decoding, complete and up to a possible terminator. */
function readingsOf(path: string): string[] {
  const readings: string[] = [];
  let current = path;
  for (let level = 0; level <= MAX_LEVELS; level += 1) {
    const text = current.normalize("NFKC").toLowerCase();
    readings.push(text);
    const end = text.search(/[\0?#]/);
    if (end >= 0) readings.push(text.slice(0, end));
    const next = decodePath(current);
    if (next === current) break;
    current = next;
  }
  return readings;
}

/** Significant segments of a path. */
function segmentsOf(path: string): string[] {
  return path
    .split(/[/\\]/)
    .map((segment) => segment.replace(/;.*$/s, "").replace(/[\0-\x20\x7f-\x9f]/g, ""))
    .filter((segment) => segment !== "" && segment !== ".");
}

/** Reports whether a path's segments occur among others, in order. */
function contains(segments: readonly string[], path: readonly string[]): boolean {
  let at = 0;
  for (const segment of segments) if (segment === path[at]) at += 1;
  return at === path.length;
}

/**
 * Answers a request that does not reach the upstream.
 *
 * @param own headers of the reply.
 */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
  own: Readonly<Record<string, string>> = {},
): void {
  sendWhole(request, response, status, {
    headers: { "content-type": JSON_TYPE, ...own },
    body: errorEnvelope(status, message),
  });
}
