import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { expect, onTestFinished, vi } from "vitest";
import type { WholeSite } from "../mounts/whole-site.ts";
import { type StandIn, type StandInOptions, startStandIn } from "../sites/stand-in.ts";
import { startService, type TestService, type TestServiceOptions, TOKEN } from "./service.ts";

/** A service in front of a stand-in. */
export interface FrontedSite {
  readonly site: StandIn;
  readonly service: TestService;
  /** The front's address, with the site's base path. */
  readonly url: string;
  call(method: string, path: string, callOptions?: CallOptions): Promise<Answer>;
  /** An rpc of `mooring.v1` as JSON, by default as Mooring's own admin. */
  rpc(name: string, body?: object, authorization?: string): Promise<RpcAnswer>;
  /** Logs in as an admin. @returns the session's token. */
  login(name?: string, password?: string): Promise<string>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly code: number;
  readonly message: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the API sends.
  readonly data: any;
}

export interface RpcAnswer {
  readonly status: number;
  /** "ok", or the code of the error. */
  readonly code: string;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the rpc sends.
  readonly body: any;
}

export interface FrontOptions extends StandInOptions {
  readonly env?: Record<string, string>;
  /** Whether the service has the site's token; default true. */
  readonly withToken?: boolean;
  readonly siteTimes?: TestServiceOptions["siteTimes"];
  /** Preparation of the site before the service starts. */
  readonly before?: (site: StandIn) => void;
}

export async function startFront(options: FrontOptions = {}): Promise<FrontedSite> {
  const { withToken = true, env = {} } = options;
  const site = await startStandIn(options);
  options.before?.(site);
  const service = await startService({
    env: {
      // No client reuses a kept connection.
      MOORING_SHUTDOWN_GRACE: "50ms",
      MOORING_UPSTREAM: site.url,
      ...(withToken ? { MOORING_UPSTREAM_TOKEN: site.token() } : {}),
      ...env,
    },
    siteTimes: options.siteTimes,
  });
  const url = `http://127.0.0.1:${service.port}${options.basePath ?? ""}`;
  const call: FrontedSite["call"] = async (method, path, callOptions = {}) => {
    const { token, body, headers = {} } = callOptions;
    const reply = await fetch(url + path, {
      method,
      redirect: "manual",
      headers: {
        ...(token === undefined ? {} : { authorization: token }),
        ...(body === undefined ? {} : { "content-type": "application/json;charset=utf-8" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    const json = text.startsWith("{") ? JSON.parse(text) : {};
    return {
      code: 0,
      message: "",
      data: null,
      ...json,
      status: reply.status,
      headers: reply.headers,
      text,
    };
  };
  const front: FrontedSite = {
    site,
    service,
    url,
    call,
    rpc: async (name, body = {}, authorization = TOKEN) => {
      const reply = await fetch(`http://127.0.0.1:${service.port}/mooring.v1.${name}`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const text = await reply.text();
      const read = JSON.parse(text);
      return { status: reply.status, code: reply.ok ? "ok" : read.code, text, body: read };
    },
    login: async (username = "admin", password = "admin-password") => {
      const reply = await call("POST", "/api/auth/login", { body: { username, password } });
      return reply.data.token as string;
    },
    stop: async () => {
      await service.stop();
      await site.stop();
    },
  };
  try {
    if (withToken) await settled(front);
    return front;
  } catch (error) {
    await front.stop();
    throw error;
  }
}

/** The last request at the site that is not Mooring's own. */
export function lastPassed({ site }: FrontedSite): StandIn["seen"][number] | undefined {
  return site.seen.findLast(({ headers }) => headers["client-id"] !== "mooring");
}

/** Waits until the site's settings are the service's. */
export async function settled({ site, call }: Pick<FrontedSite, "site" | "call">): Promise<void> {
  const isOwn = async () => {
    // An entity tag is Mooring's: the site sends none there.
    const { headers } = await call("GET", "/api/public/settings");
    expect(headers.get("etag")).not.toBeNull();
  };
  await vi.waitFor(isOwn, { timeout: 60_000 });
  expect(site.saves).toEqual([]);
}

/** Listens until the test ends. @returns the address. */
export async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => undefined)));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A service in front of a server that answers every request with these bytes, and then closes. */
export async function inFrontOf(
  reply: string,
  then: "closes" | "stays" = "closes",
): Promise<TestService> {
  const server = createServer((socket) => {
    socket.once("data", () => {
      socket.write(reply, "latin1");
      if (then === "closes") socket.end();
    });
  });
  return inFront(await listening(server));
}

/** A service in front of a server with mounts and rules. */
export function startInFrontOf({ url, token }: WholeSite): Promise<TestService> {
  return startService({
    env: { MOORING_UPSTREAM: url, MOORING_UPSTREAM_TOKEN: token() },
    siteTimes: { tick: 30, read: 60 },
    mountTimes: { tick: 30, read: 60 },
  });
}

/** Sends a call of the server's own pages, as one of its admins: with JSON, or with an id. */
export async function callPage(
  origin: string,
  call: string,
  body: object | string,
  token: string,
): Promise<{ readonly code: number }> {
  const isId = typeof body === "string";
  const reply = await fetch(`${origin}/api/admin/${call}${isId ? `?id=${body}` : ""}`, {
    method: "POST",
    headers: { authorization: token, "content-type": "application/json" },
    ...(isId ? {} : { body: JSON.stringify(body) }),
  });
  return (await reply.json()) as { code: number };
}

export async function inFront(url: string, env: Record<string, string> = {}): Promise<TestService> {
  const service = await startService({
    env: { MOORING_UPSTREAM: url, MOORING_SHUTDOWN_GRACE: "50ms", ...env },
  });
  onTestFinished(() => service.stop());
  return service;
}
