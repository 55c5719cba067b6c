import type { Connection } from "./connection.ts";
import { exchange, type HttpCall, type HttpReply } from "./http-exchange.ts";

/** Requests to one Web API, with the cookies that it set. */
export interface Session {
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
export function createSession(address: URL, connection: Connection): Session {
  const api = new URL("api/v2/", folder(address));
  // By name as the instance chose it: `SID` until 5.1, `QBT_SID_` and its own port from 5.2.
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
