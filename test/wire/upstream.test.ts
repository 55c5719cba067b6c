import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startService, type TestService, TOKEN } from "./service.ts";
import {
  type FrontedSite,
  type FrontOptions,
  lastPassed,
  raw,
  settled,
  startFront,
} from "./upstream.ts";

const soon = <T>(look: () => T) => expect.poll(look);

let front: FrontedSite;

beforeEach(async () => {
  front = await startFront();
});

afterEach(() => front.stop());

async function another(options: FrontOptions): Promise<void> {
  await front.stop();
  front = await startFront(options);
}

interface Item {
  readonly key: string;
  readonly value: string;
}

async function group(token: string, number = 1): Promise<Item[]> {
  return (await front.call("GET", `/api/admin/setting/list?group=${number}`, { token })).data;
}

const textOf = (items: readonly Item[], key: string) =>
  items.find((item) => item.key === key)?.value;

const save = (token: string, items: readonly object[]) =>
  front.call("POST", "/api/admin/setting/save", { token, body: items });

describe("first contact", () => {
  test("takes the site's texts and overwrites none", async () => {
    const { data } = await front.call("GET", "/api/public/settings");
    expect(data.announcement).toBe(front.site.value("announcement"));
    expect(front.site.saves).toEqual([]);
  });

  test("without a token the site answers for itself, until its first admin comes", async () => {
    await another({ withToken: false, before: (site) => site.put("site_title", "As it was") });
    const before = await front.call("GET", "/api/public/settings");
    expect(before.data.site_title).toBe("As it was");
    expect(before.headers.get("etag")).toBeNull();
    const ann = await front.login("ann", "ann-password");
    expect((await front.call("GET", "/api/admin/setting/list", { token: ann })).code).toBe(403);
    const token = await front.login();
    expect((await front.call("GET", "/api/admin/setting/list", { token })).code).toBe(200);
    await settled(front);
    expect((await front.call("GET", "/api/public/settings")).data.site_title).toBe("As it was");
    await save(token, [{ key: "site_title", value: "Through the front" }]);
    expect(front.site.value("site_title")).toBe("Through the front");
  });

  test("a site that is down at the start is met when it is there", async () => {
    const { site } = front;
    await site.stop();
    expect((await front.call("GET", "/anything")).status).toBe(502);
    await site.start();
    expect((await front.call("GET", "/anything")).status).toBe(200);
  });
});

describe("an admin of the site", () => {
  test("reads and saves with a login; it is at the site before the reply", async () => {
    const token = await front.login();
    const items = await group(token);
    const changed = items.map((item) =>
      item.key === "site_title" ? { ...item, value: "New" } : item,
    );
    const reply = await save(token, changed);
    expect([reply.status, reply.code]).toEqual([200, 200]);
    // It waits a second for the site, which a busy machine may need.
    expect(reply.headers.get("mooring-upstream")).toMatch(/^(?:applied|pending)$/);
    await soon(() => front.site.value("site_title")).toBe("New");
    expect(front.site.saves).toHaveLength(1);
    const { data } = await front.call("GET", "/api/public/settings");
    expect(data.site_title).toBe("New");
  });

  test("is told by the site's own words who is none", async () => {
    const list = (token?: string) =>
      front.call("GET", "/api/admin/setting/list", token === undefined ? {} : { token });
    expect(await list()).toMatchObject({ status: 200, code: 401 });
    expect(await list("wrong")).toMatchObject({ code: 401, message: "token is invalidated" });
    const ann = await front.login("ann", "ann-password");
    expect(await list(ann)).toMatchObject({ code: 403, message: "You are not an admin" });
    expect(await list(TOKEN)).toMatchObject({ code: 200 });
    expect(await list(front.site.token())).toMatchObject({ code: 200 });
  });

  test("nobody is asked who sends no header, even when the site's token is empty", async () => {
    front.site.put("token", "");
    const asked = front.site.count("GET /api/me");
    expect((await front.call("GET", "/api/admin/setting/list")).code).toBe(401);
    expect(front.site.count("GET /api/me")).toBe(asked);
  });

  test("loses the right at once with a logout, and with a new password", async () => {
    const code = async (token: string) =>
      (await front.call("GET", "/api/admin/setting/list", { token })).code;
    const first = await front.login();
    expect(await code(first)).toBe(200);
    await front.call("GET", "/api/auth/logout", { token: first });
    expect(await code(first)).toBe(401);
    const second = await front.login();
    expect(await code(second)).toBe(200);
    await front.call("POST", "/api/me/update", { token: second, body: { password: "another" } });
    expect(await code(second)).toBe(401);
  });

  test("is asked about once for many calls at a time", async () => {
    const token = await front.login();
    const asked = front.site.count("GET /api/me");
    const list = () => front.call("GET", "/api/admin/setting/list", { token });
    await Promise.all(Array.from({ length: 20 }, list));
    await list();
    expect(front.site.count("GET /api/me")).toBe(asked + 1);
  });

  test("a site that is silent is 502, never a right", async () => {
    const token = await front.login();
    await front.site.stop();
    const reply = await front.call("GET", "/api/admin/setting/list", { token });
    expect([reply.status, reply.code]).toEqual([502, 502]);
    await front.site.start();
  });

  test("sees the site's token and version, and can't touch Mooring's", async () => {
    const token = await front.login();
    const shown = await group(token, 0);
    expect(textOf(shown, "token")).toBe(front.site.token());
    expect(textOf(await group(TOKEN, 0), "token")).toBe(TOKEN);
    const { data } = await front.call("GET", "/api/public/settings");
    expect(data.version).toBe(front.site.value("version"));
    await save(
      token,
      shown.map((item) => (item.key === "token" ? { ...item, value: "x".repeat(40) } : item)),
    );
    expect(textOf(await group(TOKEN, 0), "token")).toBe(TOKEN);
    const url = `http://127.0.0.1:${front.service.port}/mooring.v1.SettingService`;
    const rpc = (name: string, body: object) =>
      fetch(`${url}/${name}`, {
        method: "POST",
        headers: { authorization: token, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    expect((await rpc("ResetToken", {})).status).toBe(403);
    expect((await rpc("ListSettings", {})).status).toBe(200);
  });

  test("resets the site's token, and Mooring goes on with the new one", async () => {
    const token = await front.login();
    const reply = await front.call("POST", "/api/admin/setting/reset_token", { token });
    expect(reply.data).toBe(front.site.token());
    await save(token, [{ key: "site_title", value: "after the reset" }]);
    expect(front.site.value("site_title")).toBe("after the reset");
    expect(textOf(await group(TOKEN, 0), "token")).toBe(TOKEN);
  });

  test("what the site changes by calls of its own is taken, before the reply", async () => {
    const token = await front.login();
    const body = { uri: "http://127.0.0.1:9091/rpc", seedtime: "5" };
    const reply = await front.call("POST", "/api/admin/setting/set_transmission", { token, body });
    expect(reply.code).toBe(200);
    const items = await group(token, 5);
    expect(textOf(items, "transmission_uri")).toBe(body.uri);
    expect(front.site.saves).toEqual([]);
  });
});

describe("a page that sends its whole group", () => {
  test("does not revert what somebody else has changed since it was loaded", async () => {
    const token = await front.login();
    const page = await group(token);
    await save(TOKEN, [{ key: "robots_txt", value: "somebody else's" }]);
    const sent = page.map((item) =>
      item.key === "site_title" ? { ...item, value: "mine" } : item,
    );
    expect((await save(token, sent)).code).toBe(200);
    const now = await group(token);
    expect([textOf(now, "robots_txt"), textOf(now, "site_title")]).toEqual([
      "somebody else's",
      "mine",
    ]);
  });

  test("what both have changed is the one's who came last", async () => {
    const token = await front.login();
    const page = await group(token);
    await save(TOKEN, [{ key: "site_title", value: "theirs" }]);
    const sent = page.map((item) =>
      item.key === "site_title" ? { ...item, value: "mine" } : item,
    );
    await save(token, sent);
    expect(textOf(await group(token), "site_title")).toBe("mine");
  });

  test("a whole backup brings everything back, whatever was changed since", async () => {
    const token = await front.login();
    const { data: backup } = await front.call("GET", "/api/admin/setting/list", { token });
    await save(TOKEN, [{ key: "site_title", value: "changed since" }]);
    expect((await save(token, backup)).code).toBe(200);
    expect(textOf(await group(token), "site_title")).toBe(textOf(backup, "site_title"));
  });
});

describe("what passes", () => {
  test("pages, files, ranges and caching are the site's, byte for byte", async () => {
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

  test("megabytes of anything come and go as they are, on either protocol", async () => {
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
      ...{ ":method": "PUT", ":path": "/api/fs/put", authorization: token, "file-path": "/h2" },
    });
    stream.end(bytes);
    await once(stream.resume(), "end");
    expect(front.site.files.get("/h2")?.equals(bytes)).toBe(true);
    session.close();
  });

  test("Host is kept, where a request came from is overwritten, and the connection's own goes", async () => {
    await raw(front.service.port, [
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

  test("raw addresses of files point to the front", async () => {
    const token = await front.login();
    const reply = await front.call("POST", "/api/fs/get", { token, body: { path: "/hello.txt" } });
    expect(reply.data.raw_url).toBe(`${front.url}/d/hello.txt?sign=s`);
    expect((await fetch(reply.data.raw_url)).status).toBe(200);
  });

  test("one who guesses passwords locks nobody else, and can't pretend to be another", async () => {
    const guess = (password: string, from: string) =>
      front.call("POST", "/api/auth/login", {
        body: { username: "admin", password },
        headers: { "x-forwarded-for": from },
      });
    for (let at = 0; at < 5; at += 1) await guess("wrong", `8.8.8.${at}`);
    expect((await guess("admin-password", "7.7.7.7")).code).toBe(429);
  });

  test.each(["PROPFIND", "MKCOL", "LOCK", "OPTIONS", "PUT"])("WebDAV: %s", async (method) => {
    const authorization = `Basic ${Buffer.from("admin:admin-password").toString("base64")}`;
    const body = "<D:propfind/>";
    const text = await raw(front.service.port, [
      `${method} /dav/new HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${authorization}\r\n`,
      `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 2\d\d /);
    if (method === "PROPFIND") expect(text).toContain(`asked="${body.length}"`);
  });

  test("WebDAV: COPY works, because Host and Destination agree", async () => {
    const host = `127.0.0.1:${front.service.port}`;
    const text = await raw(front.service.port, [
      `COPY /dav/hello.txt HTTP/1.1\r\nHost: ${host}\r\nDestination: http://${host}/dav/%C3%A9.txt\r\n`,
      `Authorization: Basic ${Buffer.from("admin:admin-password").toString("base64")}\r\n`,
      "Connection: close\r\n\r\n",
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 201 /);
    expect(front.site.files.has("/é.txt")).toBe(true);
  });

  test.each(["//x", "/%2e%2e/", "/a%2Fb?x=%zz;y", "/%C3%BC"])(
    "the target %s comes as it is",
    async (target) => {
      const bytes = Buffer.from(`GET ${target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
      expect(await raw(front.service.port, [bytes])).toMatch(/^HTTP\/1\.1 200 /);
      const seen = lastPassed(front)?.url ?? "";
      expect(Buffer.from(seen, "latin1").toString()).toBe(target);
    },
  );

  test("who waits for a word before its body gets it, and the site hears nothing of that", async () => {
    const token = await front.login();
    const text = await raw(front.service.port, [
      `PUT /api/fs/put HTTP/1.1\r\nHost: h\r\nAuthorization: ${token}\r\nFile-Path: /up\r\n`,
      "Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\nhello",
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
    expect(front.site.files.get("/up")?.toString()).toBe("hello");
    expect(lastPassed(front)?.headers.expect).toBeUndefined();
  });

  test("an upgrade is an ordinary request", async () => {
    const text = await raw(
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
    const text = await raw(front.service.port, [
      `PUT /api/fs/put HTTP/1.1\r\nHost: h\r\nAuthorization: wrong\r\nContent-Length: ${1024 ** 3}\r\n\r\n`,
      ...Array.from({ length: 8 }, () => block),
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text.toLowerCase()).toContain("connection: close");
    expect(text).toContain("token is invalidated");
  });

  test("bodies without a length pass, and preflights are the site's", async () => {
    const token = await front.login();
    const text = await raw(front.service.port, [
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

  test("one side that goes takes the other along", async () => {
    const gone = new AbortController();
    const reply = await fetch(`${front.url}/d/big/1000000000`, { signal: gone.signal });
    await reply.body?.getReader().read();
    gone.abort();
    // A site that goes in the middle of a reply.
    const second = await fetch(`${front.url}/d/big/1000000000`);
    await front.site.stop();
    await expect(second.arrayBuffer()).rejects.toThrow();
    await front.site.start();
    expect((await front.call("GET", "/d/hello.txt")).status).toBe(200);
  });

  test("over HTTP/2 as well", async () => {
    const session = connect(`http://127.0.0.1:${front.service.port}`);
    const ask = async (headers: Record<string, string>, body?: string) => {
      const stream = session.request(headers);
      stream.end(body);
      const [head] = (await once(stream, "response")) as [Record<string, unknown>];
      let text = "";
      for await (const part of stream.setEncoding("utf8")) text += part;
      return { status: head[":status"], text };
    };
    expect(await ask({ ":path": "/d/hello.txt" })).toEqual({
      status: 200,
      text: "hello from the site",
    });
    const token = await front.login();
    const put = {
      ":method": "PUT",
      ":path": "/api/fs/put",
      authorization: token,
      "file-path": "/h2",
    };
    expect((await ask(put, "by HTTP/2")).status).toBe(200);
    expect(front.site.files.get("/h2")?.toString()).toBe("by HTTP/2");
    session.close();
  });

  test("Mooring's own token does not reach the site", async () => {
    const seen = () => lastPassed(front)?.headers;
    await front.call("GET", "/somewhere", { token: `Bearer ${TOKEN}` });
    expect(seen()?.authorization).toBeUndefined();
    await front.call("GET", "/somewhere", { token: "Basic abc" });
    expect(seen()?.authorization).toBe("Basic abc");
  });

  test("own pages stand below /@mooring alone", async () => {
    expect((await front.call("GET", "/@mooring/ping")).text).toBe("pong");
    expect((await front.call("GET", "/@mooring/nothing")).status).toBe(404);
    expect((await front.call("GET", "/console/")).headers.get("content-type")).toBe("text/html");
  });

  test.each(["", "/sub"])(
    "the contract for programs is there too, and what it says of addresses is true (base path %j)",
    async (basePath) => {
      if (basePath !== "") await another({ basePath });
      const at = new URL(`http://127.0.0.1:${front.service.port}/@mooring/openapi.json`);
      const document = (await (await fetch(at)).json()) as {
        readonly openapi: string;
        readonly servers: readonly [{ readonly url: string }];
        readonly paths: object;
      };
      expect(document.openapi).toBe("3.1.0");
      const base = new URL(document.servers[0].url, at).href.replace(/\/$/, "");
      const token = await front.login();
      for (const [path, headers] of [
        ["/api/public/settings", {}],
        ["/api/admin/setting/list", { authorization: token }],
      ] as const) {
        expect(document.paths).toHaveProperty([path, "get"]);
        const reply = await fetch(base + path, { headers });
        expect(await reply.json(), path).toMatchObject({ code: 200 });
      }
      // Anywhere else that name may be a file of the site.
      await front.call("GET", "/openapi.json");
      expect(lastPassed(front)?.url).toBe(`${basePath}/openapi.json`);
    },
  );

  test("under a base path the contract's paths are below it too", async () => {
    await another({ basePath: "/sub" });
    const token = await front.login();
    expect((await save(token, [{ key: "site_title", value: "below" }])).code).toBe(200);
    expect(front.site.value("site_title")).toBe("below");
    const root = await fetch(`http://127.0.0.1:${front.service.port}/`, { redirect: "manual" });
    expect(root.status).toBe(302);
  });

  test("AList in front: roles in a list, settings of its own", async () => {
    await another({ manner: "alist", roleAsArray: true });
    const token = await front.login();
    await save(token, [{ key: "allow_register", value: "true" }]);
    expect(front.site.value("allow_register")).toBe("true");
  });
});

describe("a second start", () => {
  test("takes what was changed there meanwhile, with the token that the site has by then", async () => {
    const { site } = front;
    const folder = await mkdtemp(join(tmpdir(), "mooring-again-"));
    const env = { MOORING_UPSTREAM: site.url, MOORING_UPSTREAM_TOKEN: site.token() };
    const read = async (service: TestService) => {
      const reply = await fetch(`http://127.0.0.1:${service.port}/api/public/settings`);
      const { data } = (await reply.json()) as { data: Record<string, string> };
      return [reply.headers.get("etag") !== null, data["robots_txt"]];
    };
    const first = await startService({ folder, env });
    await soon(() => read(first)).toEqual([true, site.value("robots_txt")]);
    // Its token is another one by now: the configured one is not tried before the known one.
    const token = await front.login();
    const reset = await fetch(`http://127.0.0.1:${first.port}/api/admin/setting/reset_token`, {
      method: "POST",
      headers: { authorization: token },
    });
    expect(reset.status).toBe(200);
    await first.stop();
    site.put("robots_txt", "changed while Mooring was away");
    const again = await startService({ folder, env });
    await soon(() => read(again)).toEqual([true, "changed while Mooring was away"]);
    expect(site.value("robots_txt")).toBe("changed while Mooring was away");
    await again.stop();
    await rm(folder, { recursive: true, force: true });
  });
});

describe("trouble", () => {
  test("a slow site: the reply says that the change is on its way", async () => {
    const token = await front.login();
    await group(token);
    front.site.mode = { kind: "slow", ms: 1_500 };
    const reply = await save(TOKEN, [{ key: "site_title", value: "slowly" }]);
    expect([reply.code, reply.headers.get("mooring-upstream")]).toEqual([200, "pending"]);
    await soon(() => front.site.value("site_title")).toBe("slowly");
  });

  test("a service in front of itself notices", async () => {
    await another({ env: {} });
    const text = await raw(front.service.port, [
      "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    const via = lastPassed(front)?.headers.via ?? "";
    const again = await raw(front.service.port, [
      `GET /x HTTP/1.1\r\nHost: h\r\nVia: ${via}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(again).toMatch(/^HTTP\/1\.1 508 /);
  });

  test("the upstream can't be a second site", async () => {
    const body = { name: "two", url: front.site.url, token: front.site.token() };
    const reply = await front.call("POST", "/api/admin/site/create", { token: TOKEN, body });
    expect(reply.code).toBe(409);
    const list = await front.call("GET", "/api/admin/site/list", { token: TOKEN });
    expect(list.data).toMatchObject([
      { name: "upstream", upstream: true, mode: "SITE_MODE_FOLLOW" },
    ]);
    expect(list.text).not.toContain(front.site.token());
  });
});
