import type { IncomingMessage, ServerResponse } from "node:http";
import { readToken } from "../access/token-text.ts";
import { errorEnvelope } from "../gateway/failure.ts";
import { JSON_TYPE } from "../gateway/serialize.ts";
import { sendWhole } from "../transport/whole-reply.ts";
import { changesUsersOrShares } from "./forwarded-change.ts";
import {
  createForwarder,
  type ForwarderOptions,
  RESET_TOKEN,
  textOf,
} from "./forwarded-request.ts";
import { createPathGuard, decodePath, isUnambiguous, withoutEndSlash } from "./path-guard.ts";

interface UpstreamHandlerOptions extends ForwarderOptions {
  /** Path prefix of the upstream, such as `/sub`; empty: none. */
  readonly base: string;
  /** Exact paths of the contract's routes. */
  readonly restPaths: ReadonlySet<string>;
  /** Exact paths of its services, such as `/acme.v1.BookService/GetBook`. */
  readonly servicePaths: ReadonlySet<string>;
}

/** Own pages are below this path only: any other path may be a folder of the upstream. */
export const OWN_PAGES = "/@mooring";
/** Prefix of the login paths: also with a hash, or by LDAP. */
const LOGIN = "/api/auth/login";

/** Paths that the upstream serves too; they are forwarded until its settings were adopted. */
const SHARED: ReadonlySet<string> = new Set([
  "/api/public/settings",
  ...["list", "names", "info"].map((name) => `/api/admin/driver/${name}`),
  ...["list", "get", "save", "delete", "set_aria2", "set_qbit"].map(
    (name) => `/api/admin/setting/${name}`,
  ),
]);

/** Prefixes of paths that may change rights or settings. */
const WATCHED = ["/api/admin", "/api/auth", "/api/me", "/api/share"];

/**
 * Routes requests: paths of the contract are served here, all others are forwarded to the upstream. A
 * path that a server may normalize to a path of the contract or a watched one is answered with 400.
 *
 * @returns a function that handles a request and returns true, or returns false for a request to this
 *   service, with its path as in the routes.
 */
export function createUpstreamHandler(options: UpstreamHandlerOptions) {
  const { pipe, base, restPaths, servicePaths, events } = options;
  const { forwardReset, forwardRequest, forwardAudited } = createForwarder(options);
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

  /** Passes a request of the upstream, with its effects here. */
  const forward = (request: IncomingMessage, response: ServerResponse, path: string): void => {
    const { method = "", headers } = request;
    // Without a token only a login can change anything.
    const isAnonymous = readToken(headers.authorization) === "" && !path.startsWith(LOGIN);
    if (isAnonymous || !path.startsWith("/api/")) void pipe.pass(request, response);
    else if (changesRights(method, path)) {
      const whom = path.startsWith(LOGIN) ? "refused" : "all";
      events.forget(whom);
      const forget = (): void => events.forget(whom);
      if (changesUsersOrShares(method, path))
        void forwardAudited(request, response, path, forget).catch(() => response.destroy());
      else void pipe.pass(request, response, () => async () => forget());
    } else if (changesUsersOrShares(method, path))
      void forwardAudited(request, response, path).catch(() => response.destroy());
    else if (method === "POST" && path === RESET_TOKEN)
      void forwardReset(request, response).catch(() => response.destroy());
    else if (method === "POST" && path.startsWith("/api/admin/setting/") && events.isReady())
      void forwardRequest(request, response, path, events.forwardChange).catch(() =>
        response.destroy(),
      );
    else if (method === "POST" && path.startsWith("/api/admin/storage/"))
      void forwardRequest(request, response, path, events.forwardMountChange).catch(() =>
        response.destroy(),
      );
    else if (method === "POST" && path.startsWith("/api/admin/meta/"))
      void forwardRequest(request, response, path, events.forwardRuleChange).catch(() =>
        response.destroy(),
      );
    else void pipe.pass(request, response);
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { headers } = request;
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
    forward(request, response, path);
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
