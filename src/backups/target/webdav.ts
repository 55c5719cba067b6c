import { elementsOf, type HttpReply, MAX_FILES, MAX_LIST, send, textsOf } from "./http.ts";
import { type BackupTarget, TargetFailure } from "./target.ts";

export interface WebdavOptions {
  /** Address of the collection, with a slash at its end. */
  readonly url: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

const PROPFIND = `<?xml version="1.0"?><propfind xmlns="DAV:"><prop><getcontentlength/><resourcetype/></prop></propfind>`;

/** Members of a WebDAV collection (RFC 4918). It is created if its parent exists. */
export function createWebdavTarget({ url, user = "", password = "" }: WebdavOptions): BackupTarget {
  const base = new URL(url);
  const credentials = Buffer.from(`${user}:${password}`).toString("base64");
  const urlOf = (name: string): string => new URL(encodeURIComponent(name), base).href;
  const call = (
    method: string,
    target: string,
    signal: AbortSignal,
    init: RequestInit = {},
    most?: number,
  ): Promise<HttpReply> => {
    const headers = new Headers(init.headers);
    if (user !== "") headers.set("authorization", `Basic ${credentials}`);
    return send(new Request(target, { ...init, method, headers }), signal, most);
  };
  const expectOk = (reply: HttpReply, what: string): HttpReply => {
    if (reply.status >= 200 && reply.status < 300) return reply;
    throw new TargetFailure(`${what} failed: HTTP ${reply.status}`);
  };
  return {
    place: `${base.origin}${base.pathname}`,
    list: async (signal) => {
      const headers = { depth: "1", "content-type": "application/xml" };
      const init = { headers, body: PROPFIND };
      const reply = await call("PROPFIND", base.href, signal, init, MAX_LIST);
      // The collection is created by the first backup.
      if (reply.status === 404) return [];
      return elementsOf(expectOk(reply, "list").body.toString("utf8"), "response")
        .slice(0, MAX_FILES)
        .flatMap((response) => {
          const [href = ""] = textsOf(response, "href");
          const [size = "0"] = textsOf(response, "getcontentlength");
          const name = nameIn(base, href);
          return name === undefined ? [] : [{ name, size: Number(size) }];
        });
    },
    read: async (name, signal) => {
      const reply = await call("GET", urlOf(name), signal);
      return reply.status === 404 ? undefined : expectOk(reply, "read").body;
    },
    write: async (name, content, signal) => {
      const put = () =>
        call("PUT", urlOf(name), signal, {
          body: new Uint8Array(content),
          headers: { "content-type": "application/json" },
        });
      const reply = await put();
      // The collection is missing (RFC 4918, section 9.7.1; some servers answer 404).
      if (reply.status !== 409 && reply.status !== 404) return void expectOk(reply, "write");
      expectOk(await call("MKCOL", base.href, signal), "create the folder");
      expectOk(await put(), "write");
    },
    rename: async (from, to, signal) => {
      const headers = { destination: urlOf(to), overwrite: "T" };
      expectOk(await call("MOVE", urlOf(from), signal, { headers }), "rename");
    },
    remove: async (name, signal) => {
      const reply = await call("DELETE", urlOf(name), signal);
      if (reply.status !== 404) expectOk(reply, "remove");
    },
  };
}

/** Name of a direct member of a collection; undefined: the collection itself, or another one. */
function nameIn(base: URL, href: string): string | undefined {
  const found = URL.parse(href, base);
  if (found === null || !found.pathname.startsWith(base.pathname)) return undefined;
  try {
    const name = decodeURIComponent(found.pathname.slice(base.pathname.length));
    return name === "" || name.includes("/") ? undefined : name;
  } catch {
    return undefined;
  }
}
