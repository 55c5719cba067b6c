import {
  createServer as createHttp,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { accountRoutes, createRights, isRefusal, type Route } from "./stand-in-account.ts";
import { type Files, receive, sendFile, serveDav } from "./stand-in-file.ts";
import { indexPage } from "./stand-in-page.ts";
import { envelope, json } from "./stand-in-reply.ts";
import { createRulesOfSite, type RulesOfSite, ruleRoutes } from "./stand-in-rule.ts";
import { createSessions, type Sessions } from "./stand-in-session.ts";
import {
  createSettingsOfSite,
  type Manner,
  rowsOf,
  type SettingsOfSite,
} from "./stand-in-setting.ts";
import { createUsersOfSite, type UsersOfSite, userRoutes } from "./stand-in-user.ts";

/** Behavior of the site in addition to its API. */
export type Mode =
  /** Storages are loading: only /ping, / and assets answer. */
  | { readonly kind: "hang" }
  /** The same in older servers. */
  | { readonly kind: "please-wait" }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "redirect"; readonly to: string }
  /** HTTP 500 with no body. */
  | { readonly kind: "error" }
  | { readonly kind: "html" }
  /** Each API call is delayed by this. */
  | { readonly kind: "held"; readonly until: Promise<void> }
  /** Each API call is answered with this text as JSON. */
  | { readonly kind: "reply"; readonly body: string }
  /** A list of this number of bytes. */
  | { readonly kind: "huge"; readonly bytes: number };

/** Stages at which a call of Mooring can be held. */
export type Stage = "list" | "save" | "stored";

export interface StandInOptions {
  readonly manner?: Manner;
  readonly version?: string;
  /** Keys that an older version does not have. */
  readonly lacks?: readonly string[];
  /** Such as `/sub`. */
  readonly basePath?: string;
  /** PEM texts; enables TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly forceHttps?: boolean;
  readonly roleAsArray?: boolean;
  readonly maxDevices?: number;
}

/** A received request. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly rawHeaders: readonly string[];
}

/** A server with the behavior of OpenList or AList, as far as Mooring and browsers use it. */
export interface StandIn {
  readonly port: number;
  readonly url: string;
  /** Answers a request that another server has received. */
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
  readonly settings: SettingsOfSite;
  readonly sessions: Sessions;
  readonly rules: RulesOfSite;
  /** Users, roles and shares. */
  readonly users: UsersOfSite;
  readonly files: Files;
  mode: Mode | undefined;
  /** Awaited before a list is sent, and before and after a save is stored. */
  hold: ((stage: Stage) => unknown) | undefined;
  /** The current permanent token. */
  token(): string;
  value(key: string): string | undefined;
  /** Changes a row without a call. */
  put(key: string, value: string): void;
  /** Whether download managers can be reached: they are stored before the call in either case. */
  managersAnswer: boolean;
  /** Rows of its mounts, as its list has them. */
  readonly mounts: Record<string, unknown>[];
  /** Contents of folders: names of folders, or the error of the driver. Others are empty. */
  readonly folders: Map<string, readonly string[] | string>;
  /** Folders that were listed. */
  readonly listings: { readonly path: string; readonly refresh: boolean }[];
  /** Requests in progress, and the maximum of concurrent admin requests on settings. */
  active(): number;
  mostAtOnce(): number;
  /** Number of requests to a path, such as `POST /api/admin/setting/save`. */
  count(call: string): number;
  readonly seen: Seen[];
  /** Bodies of all saves, parsed. */
  readonly saves: unknown[];
  /** Bytes of the last upload that was read completely. */
  uploaded(): number;
  /** Ends it and starts it again at the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Plain-text reply of servers written in Go on a TLS port. */
const NOT_TLS = "Client sent an HTTP request to an HTTPS server.";

const LABELS: Readonly<Record<Manner, string>> = {
  openlist: "v4.2.5 (Commit: 0123456) - Frontend: v4.2.5 - Build at: 2026-08-19",
  alist: "v3.45.0",
};

export async function startStandIn(options: StandInOptions = {}): Promise<StandIn> {
  const { manner = "openlist", basePath = "" } = options;
  const settings = createSettingsOfSite(manner, options.version ?? LABELS[manner], options.lacks);
  const sessions = createSessions({
    roleAsArray: options.roleAsArray ?? false,
    maxDevices: options.maxDevices ?? 0,
  });
  const rules = createRulesOfSite(manner);
  const form = { manner, roleAsArray: options.roleAsArray ?? false };
  const users = createUsersOfSite(form);
  const files: Files = new Map([["/hello.txt", Buffer.from("hello from the site")]]);
  const counts = new Map<string, number>();
  let server: Server | undefined;
  let port = 0;
  let uploaded = 0;
  let [active, settingsActive, most] = [0, 0, 0];
  const sockets = new Set<Socket>();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "/" } = request;
    const path = url.split("?", 1)[0] ?? "";
    site.seen.push({ method, url, headers: request.headers, rawHeaders: request.rawHeaders });
    if (site.seen.length > 2_000) site.seen.shift();
    const name = `${method} ${path}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (method === "OPTIONS" && request.headers.origin !== undefined && !path.includes("/dav"))
      return void response
        .writeHead(204, { "access-control-allow-origin": "*", "access-control-max-age": "43200" })
        .end();
    if (basePath !== "" && path === "/")
      return void response.writeHead(302, { location: basePath }).end();
    if (!path.startsWith(basePath)) return unmatched(request, response);
    const inner = path.slice(basePath.length) || "/";
    if (inner === "/ping")
      return void response
        .writeHead(200, { "content-type": "text/plain; charset=utf-8" })
        .end("pong");
    if (inner === "/" && method === "GET") return unmatched(request, response);
    const mode = site.mode;
    if (mode?.kind === "hang") return;
    if (mode?.kind === "please-wait")
      return envelope(response, { code: 500, message: "Loading storage, please wait" });
    if (mode?.kind === "error") return void response.writeHead(500).end();
    if (mode?.kind === "html") return html(response);
    if (mode?.kind === "reply")
      return void response.writeHead(200, { "content-type": "application/json" }).end(mode.body);
    if (mode?.kind === "redirect") return void response.writeHead(302, { location: mode.to }).end();
    if (mode?.kind === "held") await mode.until;
    if (mode?.kind === "slow") await new Promise((resolve) => setTimeout(resolve, mode.ms));
    const route = routes[`${method} ${inner}`];
    if (route !== undefined) return void (await route(request, response));
    if (inner.startsWith("/d/") || inner.startsWith("/p/"))
      return sendFile(files, decodeURIComponent(inner.slice(2)), request, response);
    if (inner === "/dav" || inner.startsWith("/dav/")) {
      const basic = `Basic ${Buffer.from("admin:admin-password").toString("base64")}`;
      if (request.headers.authorization !== basic)
        return void response.writeHead(401, { "www-authenticate": 'Basic realm="site"' }).end();
      return serveDav(files, decodeURIComponent(inner.slice(4)), request, response);
    }
    if (inner === "/ws-only") return envelope(response, { code: 400, message: "no websocket" });
    return unmatched(request, response);
  };

  const unmatched = (request: IncomingMessage, response: ServerResponse): void => {
    if (options.forceHttps)
      return void response
        .writeHead(302, { location: `https://${request.headers.host}${request.url}` })
        .end();
    if (request.method !== "GET" && request.method !== "POST")
      return void response.writeHead(405).end();
    html(response);
  };
  const html = (response: ServerResponse): void => {
    const title = settings.rows.get("site_title")?.value ?? "";
    response.writeHead(200, { "content-type": "text/html" }).end(indexPage(title, basePath));
  };
  const permanent = (): string => settings.rows.get("token")?.value ?? "";
  const { asUser, asAdmin } = createRights(sessions, permanent);
  const setRow = (key: string, value: string, group: number): void =>
    void settings.rows.set(key, {
      key,
      value,
      help: "",
      type: "string",
      options: "",
      group,
      flag: 1,
      index: 0,
    });
  const manager =
    (store: (body: Record<string, string>) => void): Route =>
    async (request, response) => {
      const body = ((await json(request)) ?? {}) as Record<string, string>;
      // Stored first, tested afterwards.
      store(body);
      envelope(
        response,
        site.managersAnswer
          ? { code: 200, message: "success", data: "ok" }
          : { code: 500, message: "dial tcp 127.0.0.1:1: connect: connection refused\n\tat x.go" },
      );
    };
  const routes: Record<string, Route> = {
    "GET /api/public/settings": (_request, response) => {
      const open = [...settings.rows.values()].filter(({ flag }) => flag === 0 || flag === 2);
      const data = Object.fromEntries(open.map(({ key, value }) => [key, value]));
      envelope(response, { code: 200, message: "success", data });
    },
    "GET /api/admin/setting/list": asAdmin(async (request, response) => {
      await site.hold?.("list");
      if (site.mode?.kind === "huge") {
        const help = "x".repeat(site.mode.bytes);
        return envelope(response, { code: 200, message: "success", data: [{ key: "a", help }] });
      }
      envelope(response, { code: 200, message: "success", data: rowsOf(settings, request.url) });
    }),
    "POST /api/admin/setting/save": asAdmin(async (request, response) => {
      const body = await json(request);
      site.saves.push(body);
      await site.hold?.("save");
      const result = await settings.save(body);
      await site.hold?.("stored");
      envelope(response, result);
    }),
    "POST /api/admin/setting/delete": asAdmin((request, response) => {
      const key = new URL(request.url ?? "/", "http://site").searchParams.get("key") ?? "";
      const found = settings.rows.get(key);
      if (found === undefined)
        return envelope(response, {
          code: 500,
          message: "failed to get settingItem: record not found",
        });
      if (found.flag !== 3)
        return envelope(response, { code: 500, message: `setting [${key}] is not deprecated` });
      settings.rows.delete(key);
      envelope(response, { code: 200, message: "success" });
    }),
    "POST /api/admin/setting/default": asAdmin((_request, response) =>
      envelope(response, { code: 200, message: "success", data: settings.defaults() }),
    ),
    "POST /api/admin/setting/reset_token": asAdmin((_request, response) =>
      envelope(response, { code: 200, message: "success", data: settings.resetToken() }),
    ),
    "POST /api/admin/setting/set_aria2": asAdmin(
      manager(({ uri = "", secret = "" }) => {
        setRow("aria2_uri", uri, 5);
        setRow("aria2_secret", secret, 5);
      }),
    ),
    "POST /api/admin/setting/set_qbit": asAdmin(
      manager(({ url = "", seedtime = "" }) => {
        setRow("qbittorrent_url", url, 5);
        setRow("qbittorrent_seedtime", seedtime, 5);
      }),
    ),
    "POST /api/admin/setting/set_transmission": asAdmin(
      manager(({ uri = "", seedtime = "" }) => {
        setRow("transmission_uri", uri, 5);
        setRow("transmission_seedtime", seedtime, 5);
      }),
    ),
    "GET /api/admin/storage/list": asAdmin((_request, response) =>
      envelope(response, {
        code: 200,
        message: "success",
        data: { content: site.mounts, total: site.mounts.length },
      }),
    ),
    "POST /api/fs/list": asAdmin(async (request, response) => {
      const body = ((await json(request)) ?? {}) as Record<string, unknown>;
      const path = String(body["path"]);
      site.listings.push({ path, refresh: body["refresh"] === true });
      const folder = site.folders.get(path) ?? [];
      if (typeof folder === "string") return envelope(response, { code: 500, message: folder });
      const content = folder.map((name) => ({ name, is_dir: true }));
      envelope(response, {
        code: 200,
        message: "success",
        data: { content, total: folder.length },
      });
    }),
    ...ruleRoutes(rules, { manner, asAdmin }),
    ...accountRoutes(sessions, { asUser }),
    ...userRoutes(users, { form, sessions, asAdmin }),
    "POST /api/fs/get": asUser(async (_user, request, response) => {
      const body = ((await json(request)) ?? {}) as Record<string, unknown>;
      if (users.missing.has(String(body["path"])))
        return envelope(response, { code: 500, message: "failed get obj: object not found" });
      const host = request.headers["x-forwarded-host"] ?? request.headers.host ?? "";
      const scheme = request.headers["x-forwarded-proto"] ?? (options.tls ? "https" : "http");
      const raw_url = `${scheme}://${host}${basePath}/d${encodeURI(String(body["path"]))}?sign=s`;
      envelope(response, { code: 200, message: "success", data: { raw_url } });
    }),
    "PUT /api/fs/put": async (request, response) => {
      const user = sessions.userOf(request, permanent());
      if (isRefusal(user)) {
        // Refused before the body is read. Like such servers, it ends its side of the connection
        // first, so that the refusal arrives, and closes it half a second later.
        const text = JSON.stringify({ ...user, data: null });
        response.detachSocket(request.socket);
        request.socket.end(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
        );
        request.pause();
        setTimeout(() => request.socket.destroy(), 500).unref();
        return;
      }
      const { size, body } = await receive(request);
      uploaded = size;
      files.set(decodeURIComponent(String(request.headers["file-path"] ?? "/upload")), body);
      envelope(response, { code: 200, message: "success" });
    },
  };

  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const isSetting = request.url?.includes("/api/admin/setting/") === true;
    active += 1;
    if (isSetting) settingsActive += 1;
    most = Math.max(most, settingsActive);
    response.once("close", () => {
      active -= 1;
      if (isSetting) settingsActive -= 1;
    });
    handle(request, response).catch(() => response.destroy());
  };
  const listen = async (): Promise<void> => {
    const made = options.tls === undefined ? createHttp(serve) : createHttps(options.tls, serve);
    made.requestTimeout = 0;
    // Such servers close no idle connection: a request on a connection that is being closed could
    // be lost.
    made.keepAliveTimeout = 0;
    made.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    made.on("tlsClientError", (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const isPlain = error.code === "ERR_SSL_HTTP_REQUEST";
      const raw = (socket as unknown as { _parent?: Socket })._parent;
      if (isPlain) raw?.end(`HTTP/1.0 400 Bad Request\r\n\r\n${NOT_TLS}\n`);
    });
    await new Promise<void>((resolve, reject) => {
      made.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    server = made;
    port = (made.address() as AddressInfo).port;
  };
  const stop = async (): Promise<void> => {
    const running = server;
    server = undefined;
    for (const socket of sockets) socket.destroy();
    if (running) await new Promise((resolve) => running.close(resolve));
  };
  const start = async (): Promise<void> => {
    settings.start();
    sessions.restart();
    await listen();
  };
  const site: StandIn = {
    get port() {
      return port;
    },
    get url() {
      return `${options.tls ? "https" : "http"}://127.0.0.1:${port}${basePath}`;
    },
    serve,
    settings,
    sessions,
    rules,
    users,
    files,
    mode: undefined,
    hold: undefined,
    token: permanent,
    value: (key) => settings.rows.get(key)?.value,
    put: (key, value) => {
      const found = settings.rows.get(key);
      if (found) found.value = value;
    },
    managersAnswer: true,
    mounts: [],
    folders: new Map(),
    listings: [],
    active: () => active,
    mostAtOnce: () => most,
    count: (call) => counts.get(call) ?? 0,
    seen: [],
    saves: [],
    uploaded: () => uploaded,
    stop,
    start,
    restart: async () => {
      await stop();
      // Clients in this process detect that their kept connections are closed.
      await new Promise((resolve) => setTimeout(resolve, 20));
      await start();
    },
  };
  await listen();
  return site;
}
