import { once } from "node:events";
import { request as ask, createServer, type Server } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { posix } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { FRAME, RawHttp2 } from "./raw/http2.ts";
import { exchange } from "./raw/line.ts";
import { type FrontedSite, startFront } from "./upstream.ts";

const SAVE = "/api/admin/setting/save";
/** Paths of this service. */
const OWN = [SAVE, "/api/admin/setting/set_aria2", "/api/public/settings", "/api/admin/status"];
/** Watched paths of the upstream: their other spellings would be passed on unwatched. */
const WATCHED = ["/api/admin/setting/reset_token", "/api/auth/logout", "/api/admin/user/update"];

/**
 * Interpretations of a target by servers and frameworks in Go, as the upstream or in a chain in
 * front of it.
 */
function readingsOf(target: string): string[] {
  const path = target.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "").split("?", 1)[0] ?? "";
  const decoded = [path, unescape(path), unescape(unescape(path))];
  const ended = decoded.map((each) => each.split(/[\0;#?]/, 1)[0] ?? "");
  const slashed = decoded.map((each) => each.replaceAll("\\", "/"));
  return (
    [...decoded, ...ended, ...slashed]
      // Path, RawPath; ServeMux and RemoveExtraSlash; RedirectTrailingSlash; RedirectFixedPath.
      .flatMap((each) => [each, posix.normalize(each), posix.normalize(`/${each}`)])
      .map((each) => (each.length > 1 ? each.replace(/\/$/, "") : each).toLowerCase())
  );
}

let front: FrontedSite;
let normalizing: Server;
/** Requests that the service itself does not make: targets as received. */
const passed: string[] = [];
const hosts: (string | undefined)[] = [];
const reached = (paths: readonly string[]): string[] =>
  passed.filter((target) => readingsOf(target).some((path) => paths.includes(path)));

beforeAll(async () => {
  let site = "";
  normalizing = createServer((request, response) => {
    const { url = "", method, headers } = request;
    if (headers["client-id"] !== "mooring") {
      passed.push(url);
      hosts.push(headers.host);
      return void request.resume().on("end", () => response.end("upstream"));
    }
    const onward = ask(site + url, { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(response);
    });
    request.pipe(onward);
  });
  await once(normalizing.listen(0, "127.0.0.1"), "listening");
  const { port } = normalizing.address() as AddressInfo;
  front = await startFront({
    env: { MOORING_UPSTREAM: `http://127.0.0.1:${port}` },
    before: ({ url }) => {
      site = url;
    },
  });
});

afterAll(async () => {
  await front.stop();
  normalizing.close();
});

beforeEach(() => {
  passed.length = 0;
  hosts.length = 0;
});

/** Sends a raw target. @returns the reply. */
function send(method: string, target: string, host = "Host: a\r\n"): Promise<string> {
  const head = `${method} ${target} HTTP/1.1\r\n${host}Connection: close\r\n`;
  return exchange(front.service.port, [Buffer.from(`${head}Content-Length: 0\r\n\r\n`, "latin1")]);
}

const forbidden = (path: string): string[] => [
  ...["x", "ftp", "ws", "file", "unix", "httpss", "http+x"].map((scheme) => `${scheme}://a${path}`),
  `x://${path}`,
  `http://${path}`,
  `https://u:p@a${path}`,
  `http:${path}`,
  `http:/a${path}`,
  `a${path}`,
  path.slice(1),
  `*${path}`,
  `?${path}`,
  `#${path}`,
  `a:80${path}`,
  `\\${path}`,
  `\\${path.slice(1)}`,
  `${path}#`,
  `${path}#x`,
  `/x#/..${path}`,
  `${path}\x00`,
  `${path}\x01`,
  `${path}\x7f`,
  `${path}\xff`,
  `/\t${path}`,
  `${path}\tx`,
];

/** Other forms that RFC 9112 allows. */
const disguised = (path: string): string[] => disguises(path).filter((each) => each !== path);

const disguises = (path: string): string[] => [
  `/${path}`,
  `//${path}`,
  path.replaceAll("/", "//"),
  `/.${path}`,
  `/./.${path}`,
  `/x/..${path}`,
  `/x/../..${path}`,
  `/x/y/../..${path}`,
  `/..${path}`,
  `${path}/.`,
  `${path}/x/..`,
  `${path}/./`,
  `${path}//`,
  `/%2e${path}`,
  `/%2E%2E${path}`,
  `/x/%2e%2e${path}`,
  `/x/.%2e${path}`,
  `/x%2f..${path}`,
  `/x%2F%2E%2E${path}`,
  `/x%5c..%5c..${path}`,
  `/x\\..${path}`,
  `/a\\b/..${path}`,
  `/a%5cb/..${path}`,
  `/api//..${path}`,
  `/x;/..${path}`,
  `/x/..;${path}`,
  `/x/..;y${path}`,
  `/x%00/../..${path}`,
  `/x%3f/..${path}`,
  `/%3b/..${path}`,
  path.replaceAll("/", "\\").replace("\\", "/"),
  path.replaceAll("/", "%5c").replace("%5c", "/"),
  path.replaceAll("/", "%255C").replace("%255C", "/"),
  path.replaceAll("/", "%252f").replace("%252f", "/"),
  path.replace("a", "%2561"),
  path.replace("a", "%252561"),
  `${path};x=1`,
  `${path};`,
  path.replace("/api", "/api;x"),
  `${path}%00`,
  `${path}%00.png`,
  `${path}%2500`,
  `${path}%3b`,
  `${path}%23x`,
  `${path}%3fx`,
  `${path}%09`,
  `${path}%0d%0a`,
  `${path}%20`,
  `${path}%7f`,
  `/%20${path}`,
  path.toUpperCase(),
  path.replace("/api", "/Api"),
  path.replace("/api", "/%41pi"),
  path.replace("s", "%C5%BF"),
  path.replace("a", "%EF%BD%81"),
  `/%EF%BC%8F${path.slice(1)}`,
];

/** Spellings of this service's paths: the same path to every server. */
const plain = (path: string): string[] => [
  path,
  `${path}/`,
  `${path}?x=1`,
  `${path}?/../x`,
  `http://a${path}`,
  `http://b${path}`,
  `HTTP://A${path}`,
  `https://a${path}/`,
  path.replace("/api", "/%61pi"),
  path.replaceAll("/", "%2f").replace("%2f", "/"),
  `${path}%2f`,
];

/** One that writes, one that reads, and the one that is answered for other servers. */
const METHODS = ["POST", "GET", "OPTIONS"];

describe.each(METHODS)("%s over HTTP/1.1", (method) => {
  test("a target that RFC 9112 does not allow is 400, and is not passed on", async () => {
    const targets = [...OWN, ...WATCHED].flatMap(forbidden);
    const replies = await Promise.all(
      targets.map(async (each) => [each, await send(method, each)]),
    );
    const others = replies.filter(([, reply]) => !reply?.startsWith("HTTP/1.1 400 "));
    expect(others).toEqual([]);
    expect(passed).toEqual([]);
  });

  test("another spelling of a path is 400 or handled by this service", async () => {
    const targets = [...OWN.flatMap(plain), ...[...OWN, ...WATCHED].flatMap(disguised)];
    expect(targets.length).toBeGreaterThan(400);
    await Promise.all(targets.map((each) => send(method, each)));
    expect(reached([...OWN, ...WATCHED])).toEqual([]);
  });
});

test("all spellings of this service's own path are answered here", async () => {
  const codes = await Promise.all(plain(SAVE).map((each) => send("POST", each)));
  for (const reply of codes) expect(reply).toContain('"code":401');
});

test.each(["POST", "GET"])("over HTTP/2 too: %s", async (method) => {
  const line = await RawHttp2.open(front.service.port);
  const schemes = ["http", "https", "x", "ftp", ""];
  let stream = 1;
  const send = async (head: Readonly<Record<string, string>>): Promise<void> => {
    const id = stream;
    stream += 2;
    line.headers(id, { ":method": method, ...head }, true);
    await line.frame(
      ({ kind, stream: of }) => of === id && (kind === FRAME.headers || kind === FRAME.reset),
    );
  };
  for (const path of [SAVE, "/api/admin/setting/reset_token"]) {
    for (const target of [...forbidden(path), ...disguised(path)])
      await send({ ":scheme": "http", ":authority": "a", ":path": target });
    for (const scheme of schemes.slice(2))
      for (const target of [path, path.slice(1), `x://a${path}`, `*${path}`, `a${path}`])
        await send({ ":scheme": scheme, ":authority": "a", ":path": target });
  }
  expect(passed).toEqual([]);
});

describe("a request to the upstream is passed on byte for byte", () => {
  test.each([
    "/d/a%2Fb",
    "/d/a%2fb/../c",
    "/d/%2e%2e/x",
    "/%2e%2e/",
    "//x",
    "/d//api/admin/setting/save",
    "/d/api/admin/setting/save",
    "/d/a..b",
    "/d/a%00b",
    "/d/a;b=c",
    "/d/a\\b",
    "/d/50%",
    "/d/%zz",
    "/d/%ff",
    "/d/%E4%BD%A0",
    "/d/a[1]{2}|3^`",
    "/API/readme.md",
    "/api/fs/list",
    "/api/fs/list/",
    "/api/auth/logout/",
    "/api/auth/log%6Fut",
    "/api/authn/list",
    "/api/admin/user/list?page=1&x=/../y",
    "/Ping",
    "/dav/x/%23y",
    "/?a=b",
    "/",
  ])("%s", async (target) => {
    await send("GET", target);
    expect(passed).toEqual([target]);
  });
});

test("OPTIONS * is about this server and answered here", async () => {
  expect(await send("OPTIONS", "*")).toMatch(/^HTTP\/1\.1 204 /);
  expect(await send("GET", "*")).toMatch(/^HTTP\/1\.1 400 /);
  expect(passed).toEqual([]);
});

describe("the host", () => {
  test.each([
    ["no header", "", "/x"],
    ["no header beside a target in absolute-form", "", "http://a/x"],
    ["two headers", "Host: a\r\nHost: b\r\n", "/x"],
    ["the same twice", "Host: a\r\nHost: a\r\n", "/x"],
    ["two in one", "Host: a, b\r\n", "/x"],
    ["with a path", "Host: a/b\r\n", "/x"],
    ["user information", "Host: u@a\r\n", "/x"],
    ["user information of the target", "Host: a\r\n", "http://u@a/x"],
  ])("%s is 400 over HTTP/1.1", async (_, host, target) => {
    for (const path of [target, target.replace("/x", "/ping")]) {
      const reply = await send("GET", path, host);
      expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      expect(reply.toLowerCase()).toContain("x-request-id: ");
    }
    expect(passed).toEqual([]);
  });

  test("of a target in absolute-form replaces the header", async () => {
    await send("GET", "http://b.example:81/x");
    expect(passed).toEqual(["/x"]);
    expect(hosts).toEqual(["b.example:81"]);
  });

  describe("over HTTP/2", () => {
    let session: ClientHttp2Session;
    beforeAll(() => {
      session = connectHttp2(front.url);
    });
    afterAll(() => session.destroy());

    const status = async (head: Record<string, string>): Promise<unknown> => {
      const stream = session.request(head);
      const [reply] = await once(stream.resume(), "response");
      return (reply as Record<string, unknown>)[":status"];
    };

    test.each(["/x", "/ping", SAVE])("that differs from :authority is 400, at %s", async (path) => {
      const head = { ":path": path, ":authority": "a" };
      expect(await status({ ...head, host: "b" })).toBe(400);
      expect(passed).toEqual([]);
    });

    test("that differs from :authority in a gRPC call is 400", async () => {
      const grpc = {
        ":method": "POST",
        ":path": "/mooring.v1.PublicService/Ping",
        "content-type": "application/grpc",
      };
      expect(await status({ ...grpc, ":authority": "a", host: "b" })).toBe(400);
    });

    test("in another case, or only one of both, is passed on", async () => {
      expect(await status({ ":path": "/x", ":authority": "a", host: "A" })).toBe(200);
      expect(await status({ ":path": "/x", ":authority": "a" })).toBe(200);
      expect(passed).toEqual(["/x", "/x"]);
    });
  });
});

describe("the rest of a request is not parsed as a second request", () => {
  const SECOND = `POST ${SAVE} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`;
  const LAST = "GET /ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

  test.each([
    ["a length and chunks", `Content-Length: ${SECOND.length}\r\nTransfer-Encoding: chunked\r\n`],
    ["another coding", "Transfer-Encoding: xchunked\r\n"],
    ["chunks in the middle", "Transfer-Encoding: chunked, gzip\r\n"],
    ["a coding with a tab", "Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n"],
    ["a folded line", `Content-Length:\r\n ${SECOND.length}\r\n`],
    ["a space before the colon", `Content-Length : ${SECOND.length}\r\n`],
    ["two lengths", `Content-Length: 0\r\nContent-Length: ${SECOND.length}\r\n`],
    ["a signed length", `Content-Length: +${SECOND.length}\r\n`],
    ["a line end of LF alone", `X: a\nContent-Length: ${SECOND.length}\r\n`],
  ])("%s", async (_, headers) => {
    const first = `POST /d/x HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
    await exchange(front.service.port, [first, `0\r\n\r\n${SECOND}${LAST}`]);
    expect(reached([SAVE])).toEqual([]);
  });

  test("CONNECT is answered with 400, and not passed on", async () => {
    for (const target of ["a:80", SAVE, `http://a${SAVE}`]) {
      const reply = await exchange(front.service.port, [
        `CONNECT ${target} HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n${SECOND}`,
      ]);
      expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      expect(reply).toContain("X-Request-Id: mine");
      expect(reply).toContain('"message":"CONNECT is not supported: this server is not a proxy"');
      expect(reply.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    }
    expect(passed).toEqual([]);
  });
});
