import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:http2";
import { expect, onTestFinished, test } from "vitest";
import { startedForAll } from "../started.ts";
import { exchange } from "./raw/line.ts";
import { TOKEN } from "./service.ts";
import { type FrontedSite, type FrontOptions, lastPassed, startFront } from "./upstream.ts";

const front: FrontedSite = startedForAll(() => startFront());

/** A service in front of a site, of one test. */
async function another(options: FrontOptions = {}): Promise<FrontedSite> {
  const started = await startFront(options);
  onTestFinished(() => started.stop());
  return started;
}

const save = ({ call }: FrontedSite, token: string, items: readonly object[]) =>
  call("POST", "/api/admin/setting/save", { token, body: items });

test("pages, files, ranges and caching are passed on byte for byte", async () => {
  const page = await front.call("GET", "/@manage/settings/site");
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html"]);
  const file = await front.call("GET", "/d/hello.txt");
  expect(file.text).toBe("hello from the site");
  const part = await front.call("GET", "/d/hello.txt", { headers: { range: "bytes=6-9" } });
  expect([part.status, part.text]).toEqual([206, "from"]);
  const etag = file.headers.get("etag") ?? "";
  const known = await front.call("GET", "/d/hello.txt", { headers: { "if-none-match": etag } });
  expect(known.status).toBe(304);
  const head = await front.call("HEAD", "/d/hello.txt");
  expect([head.headers.get("content-length"), head.text]).toEqual(["19", ""]);
  expect((await front.call("DELETE", "/nothing")).status).toBe(405);
});

test("megabytes of any data are passed on unchanged in both directions, over either protocol", async () => {
  const token = await front.login();
  const bytes = randomBytes(3_000_000);
  const put = await fetch(`${front.url}/api/fs/put`, {
    method: "PUT",
    headers: { authorization: token, "file-path": "/random" },
    body: bytes,
  });
  await put.arrayBuffer();
  expect(front.site.files.get("/random")?.equals(bytes)).toBe(true);
  const file = await fetch(`${front.url}/d/random`);
  expect(Buffer.from(await file.arrayBuffer()).equals(bytes)).toBe(true);
  const session = connect(`http://127.0.0.1:${front.service.port}`);
  const parts: Buffer[] = [];
  for await (const part of session.request({ ":path": "/d/random" })) parts.push(part);
  expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  const stream = session.request({
    ":method": "PUT",
    ":path": "/api/fs/put",
    authorization: token,
    "file-path": "/h2",
  });
  stream.end(bytes);
  await once(stream.resume(), "end");
  expect(front.site.files.get("/h2")?.equals(bytes)).toBe(true);
  session.close();
});

test("Host is kept, the client's address is overwritten, and connection headers are removed", async () => {
  await exchange(front.service.port, [
    "GET /seen HTTP/1.1\r\nHost: files.example\r\nX-Forwarded-For: 9.9.9.9\r\nX-Real-IP: 9.9.9.9\r\n",
    "Forwarded: for=9.9.9.9\r\nX-Forwarded-Host: evil.example\r\nX-Kept: As-It-Is\r\n",
    "Connection: close, X-Drop\r\nX-Drop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n\r\n",
  ]);
  const seen = front.site.seen.find(({ url }) => url === "/seen");
  expect(seen?.headers).toMatchObject({
    host: "files.example",
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-host": "files.example",
    "x-forwarded-proto": "http",
    "x-kept": "As-It-Is",
  });
  for (const name of ["x-real-ip", "forwarded", "x-drop", "te", "keep-alive"])
    expect(seen?.headers[name]).toBeUndefined();
  expect(seen?.rawHeaders).toContain("X-Kept");
});

test("raw addresses of files have the front's address", async () => {
  const token = await front.login();
  const reply = await front.call("POST", "/api/fs/get", { token, body: { path: "/hello.txt" } });
  expect(reply.data.raw_url).toBe(`${front.url}/d/hello.txt?sign=s`);
  expect((await fetch(reply.data.raw_url)).status).toBe(200);
});

test("a client that guesses passwords locks out no other, and cannot use another address", async () => {
  const { call } = await another();
  const guess = (password: string, from: string) =>
    call("POST", "/api/auth/login", {
      body: { username: "admin", password },
      headers: { "x-forwarded-for": from },
    });
  for (let at = 0; at < 5; at += 1) await guess("wrong", `8.8.8.${at}`);
  expect((await guess("admin-password", "7.7.7.7")).code).toBe(429);
});

const DAV = ["PROPFIND", "MKCOL", "LOCK", "UNLOCK", "OPTIONS", "PUT", "DELETE"];
test.each(DAV)("WebDAV: %s", async (method) => {
  front.site.files.set("/new", Buffer.from("content"));
  const authorization = `Basic ${Buffer.from("admin:admin-password").toString("base64")}`;
  const body = "<D:propfind/>";
  const text = await exchange(front.service.port, [
    `${method} /dav/new HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n`,
    `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  ]);
  expect(text).toMatch(/^HTTP\/1\.1 2\d\d /);
  if (method === "PROPFIND") expect(text).toContain(`asked="${body.length}"`);
});

test.each(["COPY", "MOVE"])(
  "WebDAV: %s works, because Host and Destination agree",
  async (method) => {
    front.site.files.set("/from.txt", Buffer.from("content"));
    const host = `127.0.0.1:${front.service.port}`;
    const text = await exchange(front.service.port, [
      `${method} /dav/from.txt HTTP/1.1\r\nHost: ${host}\r\nDestination: http://${host}/dav/%C3%A9.txt\r\n`,
      `Authorization: Basic ${Buffer.from("admin:admin-password").toString("base64")}\r\n`,
      "Connection: close\r\n\r\n",
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 201 /);
    expect(front.site.files.get("/é.txt")?.toString()).toBe("content");
  },
);

test.each(["//x", "/%2e%2e/", "/a%2Fb?x=%zz;y", "/%C3%BC"])(
  "the target %s is passed on unchanged",
  async (target) => {
    const bytes = Buffer.from(`GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
    expect(await exchange(front.service.port, [bytes])).toMatch(/^HTTP\/1\.1 200 /);
    const seen = lastPassed(front)?.url ?? "";
    expect(Buffer.from(seen, "latin1").toString()).toBe(target);
  },
);

test("a client with Expect: 100-continue gets 100, and the site gets no Expect", async () => {
  const token = await front.login();
  const text = await exchange(front.service.port, [
    `PUT /api/fs/put HTTP/1.1\r\nHost: h\r\nAuthorization: ${token}\r\nFile-Path: /up\r\n`,
    "Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\nhello",
  ]);
  expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  expect(front.site.files.get("/up")?.toString()).toBe("hello");
  expect(lastPassed(front)?.headers.expect).toBeUndefined();
});

test("an upgrade is an ordinary request", async () => {
  const text = await exchange(
    front.service.port,
    [
      "GET /ws-only HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    ],
    "no websocket",
  );
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(lastPassed(front)?.headers.upgrade).toBeUndefined();
});

test("an upload that is refused early ends with the refusal, and does not stall", async () => {
  const block = Buffer.alloc(256 * 1024, "x");
  const text = await exchange(front.service.port, [
    `PUT /api/fs/put HTTP/1.1\r\nHost: h\r\nAuthorization: wrong\r\nContent-Length: ${1024 ** 3}\r\n\r\n`,
    ...Array.from({ length: 8 }, () => block),
  ]);
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text.toLowerCase()).toContain("connection: close");
  expect(text).toContain("token is invalidated");
});

test("bodies without a length are passed on, and preflights are the site's", async () => {
  const token = await front.login();
  const text = await exchange(front.service.port, [
    `PUT /api/fs/put HTTP/1.1\r\nHost: h\r\nAuthorization: ${token}\r\nFile-Path: /chunked\r\n`,
    "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  ]);
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(front.site.files.get("/chunked")?.toString()).toBe("abc");
  const preflight = await front.call("OPTIONS", "/api/fs/list", {
    headers: { origin: "https://a.example", "access-control-request-method": "POST" },
  });
  expect([preflight.status, preflight.headers.get("access-control-max-age")]).toEqual([
    204,
    "43200",
  ]);
});

test("when one side disconnects, the other is closed", async () => {
  const { url, site, call } = await another();
  const aborting = new AbortController();
  const reply = await fetch(`${url}/d/big/1000000000`, { signal: aborting.signal });
  await reply.body?.getReader().read();
  aborting.abort();
  // A site that disconnects in the middle of a reply.
  const second = await fetch(`${url}/d/big/1000000000`);
  await site.stop();
  await expect(second.arrayBuffer()).rejects.toThrow("terminated");
  await site.start();
  expect((await call("GET", "/d/hello.txt")).status).toBe(200);
});

test("Mooring's own token does not reach the site", async () => {
  const seen = () => lastPassed(front)?.headers;
  await front.call("GET", "/somewhere", { token: `Bearer ${TOKEN}` });
  expect(seen()?.authorization).toBeUndefined();
  await front.call("GET", "/somewhere", { token: "Basic abc" });
  expect(seen()?.authorization).toBe("Basic abc");
});

test("Mooring's own pages are only below /@mooring", async () => {
  expect((await front.call("GET", "/@mooring/ping")).text).toBe("pong");
  expect((await front.call("GET", "/@mooring/nothing")).status).toBe(404);
  expect((await front.call("GET", "/console/")).headers.get("content-type")).toBe("text/html");
});

test.each(["", "/sub"])(
  "the contract for programs is there too, with valid addresses (base path %j)",
  async (basePath) => {
    const fronted = basePath === "" ? front : await another({ basePath });
    const at = new URL(`http://127.0.0.1:${fronted.service.port}/@mooring/openapi.json`);
    const document = (await (await fetch(at)).json()) as {
      readonly openapi: string;
      readonly servers: readonly [{ readonly url: string }];
      readonly paths: object;
    };
    expect(document.openapi).toBe("3.1.0");
    const base = new URL(document.servers[0].url, at).href.replace(/\/$/, "");
    const token = await fronted.login();
    for (const [path, headers] of [
      ["/api/public/settings", {}],
      ["/api/admin/setting/list", { authorization: token }],
    ] as const) {
      expect(document.paths).toHaveProperty([path, "get"]);
      const reply = await fetch(base + path, { headers });
      expect(await reply.json(), path).toMatchObject({ code: 200 });
    }
    // Elsewhere that name may be a file of the site.
    await fronted.call("GET", "/openapi.json");
    expect(lastPassed(fronted)?.url).toBe(`${basePath}/openapi.json`);
  },
);

test("with a base path the contract's paths are below it too", async () => {
  const below = await another({ basePath: "/sub" });
  const token = await below.login();
  expect((await save(below, token, [{ key: "site_title", value: "below" }])).code).toBe(200);
  expect(below.site.value("site_title")).toBe("below");
  const root = await fetch(`http://127.0.0.1:${below.service.port}/`, { redirect: "manual" });
  expect(root.status).toBe(302);
});

test("AList in front: roles in a list, its own settings", async () => {
  const alist = await another({ manner: "alist", roleAsArray: true });
  const token = await alist.login();
  await save(alist, token, [{ key: "allow_register", value: "true" }]);
  expect(alist.site.value("allow_register")).toBe("true");
});
