import { Code } from "@connectrpc/connect";
import { message } from "../messages/message.ts";
import { type Address, type AddressRule, parseAddress } from "./address.ts";
import {
  type ClientOptions,
  type Connection,
  DEFAULT_TIMEOUT_MS,
  networkOptions,
  readVersion,
} from "./connection.ts";
import { exchange, type HttpCall, type HttpReply } from "./exchange.ts";
import { failure, type Target, unexpectedStatus, withDeadline } from "./failure.ts";

/** Connection data of a qBittorrent. */
interface QbittorrentCall {
  /**
   * Address of its Web UI: http or https, with the user name and password in it, percent-encoded
   * (`http://admin:secret@host:8080/`). It includes the subfolder of a reverse proxy; query and
   * fragment are ignored.
   */
  readonly url: string;
  /** Cancels the call: CANCELED. */
  readonly signal?: AbortSignal;
}

/** Client of qBittorrent. */
export interface QbittorrentClient {
  /**
   * Logs in where a login is needed, reads the version (such as `v4.5.2`) and logs out, by the Web
   * API 2.x of qBittorrent 4.1 and later.
   *
   * Throws a ServiceError with the failed step and advice: INVALID_ARGUMENT for an invalid address,
   * FAILED_PRECONDITION when qBittorrent rejects the login, bans this client or fails its checks of
   * the Host header or CSRF, DEADLINE_EXCEEDED after the time limit, CANCELED by the signal, and
   * UNAVAILABLE otherwise. Neither the message nor the cause contains the password or parts of a
   * reply.
   */
  checkLogin(call: QbittorrentCall): Promise<{ version: string }>;
}

const ADDRESS: AddressRule = {
  field: "url",
  schemes: ["http:", "https:"],
  example: "http://admin:password@127.0.0.1:8080/",
};

/** Creates a client without state: each call has its own session. */
export function createQbittorrentClient(options: ClientOptions = {}): QbittorrentClient {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const network = networkOptions(options);
  return {
    async checkLogin({ url, signal: caller }) {
      const address = parseAddress(url, ADDRESS);
      const target = qbittorrentTarget(address, timeoutMs);
      return await withDeadline(timeoutMs, caller, async (signal) => {
        const session = createSession(address.url, { target, signal, network });
        try {
          return { version: await versionAfterLogin(session, address, target) };
        } finally {
          await session.end();
        }
      });
    },
  };
}

function qbittorrentTarget(address: Address, timeoutMs: number): Target {
  return {
    program: "qBittorrent",
    shown: address.shown,
    reachable: message("QBITTORRENT_REACHABLE"),
    recognizable: message("QBITTORRENT_RECOGNIZABLE"),
    timeoutMs,
    secrets: [address.password],
  };
}

// The version is requested before any login: an instance without authentication for this client
// needs no user name, and a failing check of the Host header or CSRF is not mistaken for a failed
// login.
async function versionAfterLogin(session: Session, address: Address, target: Target) {
  const before = await session.get("app/version");
  if (before.status !== 403) return versionOf(before, target);
  await login(session, address, target);
  const after = await session.get("app/version");
  if (after.status === 403) throw sessionLost(target);
  return versionOf(after, target);
}

// Wrong credentials: 200 "Fails." until 5.1, 401 from 5.2. Right ones: 200 "Ok.", 204 from 5.2.
async function login(session: Session, { user, password }: Address, target: Target): Promise<void> {
  if (user === "" && password === "") throw loginNeeded(target);
  const reply = await session.post("auth/login", { username: user, password });
  const { status, body } = reply;
  if (status === 204 || (status === 200 && body.trimEnd() === "Ok.")) return;
  if (status === 401 || (status === 200 && body.trimEnd() === "Fails.")) throw loginRefused(target);
  if (status === 403) throw banned(target);
  throw status === 200 ? notQbittorrent(target) : unexpectedStatus(target, reply);
}

function versionOf(reply: HttpReply, target: Target): string {
  if (reply.status === 401) throw checkRefused(target);
  if (reply.status !== 200) throw unexpectedStatus(target, reply);
  const version = readVersion(reply.body.trim());
  if (version === undefined) throw notQbittorrent(target);
  return version;
}

function notQbittorrent(target: Target) {
  const what = message("QBITTORRENT_NOT_API");
  return failure(target, Code.Unavailable, what, target.recognizable);
}

function loginNeeded(target: Target) {
  const advice = message("QBITTORRENT_GIVE_LOGIN");
  const what = message("QBITTORRENT_LOGIN_NEEDED");
  return failure(target, Code.FailedPrecondition, what, advice);
}

function loginRefused(target: Target) {
  const advice = message("QBITTORRENT_CHECK_LOGIN");
  const what = message("QBITTORRENT_LOGIN_REFUSED");
  return failure(target, Code.FailedPrecondition, what, advice);
}

function banned(target: Target) {
  const advice = message("QBITTORRENT_WAIT");
  const what = message("QBITTORRENT_BANNED");
  return failure(target, Code.FailedPrecondition, what, advice);
}

function checkRefused(target: Target) {
  const advice = message("QBITTORRENT_CHECK_OPTIONS");
  const what = message("QBITTORRENT_CHECK_REFUSED");
  return failure(target, Code.FailedPrecondition, what, advice);
}

function sessionLost(target: Target) {
  const advice = message("QBITTORRENT_FORWARD_COOKIE");
  const what = message("QBITTORRENT_SESSION_LOST");
  return failure(target, Code.FailedPrecondition, what, advice);
}

/** Requests to one Web API, with the cookies that it set. */
interface Session {
  /** Path below `api/v2/`. */
  get(path: string): Promise<HttpReply>;
  /** Path below `api/v2/`, and the form that is sent. */
  post(path: string, form: Readonly<Record<string, string>>): Promise<HttpReply>;
  /** Logs out if there is anything to log out of. Never fails: a session left over expires. */
  end(): Promise<void>;
}

/**
 * Session below the address of the Web UI, whose path may be a subfolder of a reverse proxy.
 *
 * It sends neither Origin nor Referer: every version of the Web API 2.x then passes its CSRF check,
 * which would otherwise fail behind a proxy that changes the Host.
 */
function createSession(address: URL, connection: Connection): Session {
  const api = new URL("api/v2/", folder(address));
  // Cookies by name: `SID` until 5.1, `QBT_SID_` with the port from 5.2.
  const cookies = new Map<string, string>();

  async function send(call: HttpCall): Promise<HttpReply> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...call.headers, ...(cookie === "" ? {} : { cookie }) };
    const reply = await exchange({ ...call, headers }, connection);
    for (const [name, value] of cookiesOf(reply)) cookies.set(name, value);
    return reply;
  }

  const session: Session = {
    get: (path) => send({ method: "GET", url: new URL(path, api) }),
    post: (path, form) =>
      send({
        method: "POST",
        url: new URL(path, api),
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(form).toString(),
      }),
    async end() {
      if (cookies.size === 0 || connection.signal.aborted) return;
      await session.post("auth/logout", {}).catch(() => undefined);
    },
  };
  return session;
}

function folder(address: URL): URL {
  const url = new URL(address);
  url.search = "";
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

// Expiry, domain and path don't matter: the session lives for seconds and goes to one folder only.
function cookiesOf(reply: HttpReply): [string, string][] {
  return (reply.headers["set-cookie"] ?? []).flatMap((line) => {
    const [, name, value] = /^\s*([^=;\s]+)=([^;]*)/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as [string, string]];
  });
}
