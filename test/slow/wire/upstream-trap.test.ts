import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { type Aria2c, startAria2c } from "../../downloaders/aria2c.ts";
import { needs } from "../../downloaders/program.ts";
import { type QbittorrentNox, startQbittorrentNox } from "../../downloaders/qbittorrent-nox.ts";
import { startedForAll } from "../../started.ts";
import { TOKEN } from "../../wire/service.ts";
import { type FrontedSite, lastPassed, startFront } from "../../wire/upstream.ts";

const soon = <T>(look: () => T) => expect.poll(look);

const front = startedForAll(startFront);
const trusting = startedForAll(() => startFront({ env: { MOORING_TRUSTED_PROXIES: "127.0.0.1" } }));

describe("the address of a request", () => {
  test("is set by a trusted proxy, and links have the public address", async () => {
    const headers = {
      "x-forwarded-for": "1.1.1.1, 9.9.9.9",
      "x-forwarded-proto": "https",
      "x-forwarded-host": "files.example",
    };
    const token = await trusting.login();
    const body = { path: "/hello.txt" };
    const reply = await trusting.call("POST", "/api/fs/get", { token, body, headers });
    expect(lastPassed(trusting)?.headers).toMatchObject({
      ...headers,
      "x-forwarded-for": "9.9.9.9",
    });
    expect(reply.data.raw_url).toBe("https://files.example/d/hello.txt?sign=s");
  });

  test("is read from Forwarded too, which is not passed on; an untrusted peer is ignored", async () => {
    const forwarded = "for=9.9.9.9;proto=https;host=files.example";
    const linkOf = async (one: FrontedSite): Promise<string> => {
      const [token, body] = [await one.login(), { path: "/hello.txt" }];
      const headers = { forwarded };
      const reply = await one.call("POST", "/api/fs/get", { token, body, headers });
      expect(lastPassed(one)?.headers.forwarded).toBeUndefined();
      return reply.data.raw_url;
    };
    expect(await linkOf(trusting)).toBe("https://files.example/d/hello.txt?sign=s");
    expect(await linkOf(front)).toBe(`${front.url}/d/hello.txt?sign=s`);
  });

  test("has the scheme http over plain HTTP/2, and the authority as host", async () => {
    const session = connectHttp2(front.url);
    const stream = session.request({ ":path": "/seen-h2", ":authority": "files.example" });
    await once(stream.resume(), "end");
    session.close();
    const seen = front.site.seen.find(({ url }) => url === "/seen-h2");
    expect(seen?.headers).toMatchObject({
      host: "files.example",
      "x-forwarded-host": "files.example",
      "x-forwarded-proto": "http",
      "x-forwarded-for": "127.0.0.1",
    });
  });
});

test("a WebDAV client without a password gets the site's challenge", async () => {
  const reply = await front.call("PROPFIND", "/dav/");
  expect([reply.status, reply.headers.get("www-authenticate")]).toEqual([
    401,
    'Basic realm="site"',
  ]);
});

describe("rights", () => {
  const list = async (token: string) =>
    (await front.call("GET", "/api/admin/setting/list?group=1", { token })).code;

  test("a user who is made an ordinary one loses the admin's rights at once", async () => {
    const user = { name: "bob", password: "bob-password", role: 2, disabled: false };
    front.site.sessions.users.set("bob", user);
    const { id } = front.site.users.add({ username: "bob", role: 2 });
    const bob = await front.login("bob", "bob-password");
    expect(await list(bob)).toBe(200);
    front.site.users.hold = () => {
      user.role = 0;
    };
    const body = { id, username: "bob", role: 2 };
    const token = await front.login();
    expect((await front.call("POST", "/api/admin/user/update", { token, body })).code).toBe(200);
    expect(await list(bob)).toBe(403);
  });

  test("a user who logs out and in again within a second has the same token, which is accepted", async () => {
    // Two logins within one second have one token: repeated until two are.
    for (;;) {
      const first = await front.login();
      expect(await list(first)).toBe(200);
      await front.call("GET", "/api/auth/logout", { token: first });
      expect(await list(first)).toBe(401);
      if ((await front.login()) !== first) continue;
      expect(await list(first)).toBe(200);
      return;
    }
  });
});

describe("a download manager", () => {
  let aria2: Aria2c | undefined;

  beforeEach(needs("aria2c"));
  afterAll(() => aria2?.stop());

  test("is connected by Mooring and by the site; a failure at the site is reported", async () => {
    aria2 = await startAria2c();
    const token = await front.login();
    const body = { uri: aria2.uri("http"), secret: "" };
    const connect = () => front.call("POST", "/api/admin/setting/set_aria2", { token, body });
    expect((await connect()).code).toBe(200);
    expect(front.site.count("POST /api/admin/setting/set_aria2")).toBe(1);
    expect(front.site.value("aria2_uri")).toBe(body.uri);
    front.site.managersAnswer = false;
    const failed = await connect();
    front.site.managersAnswer = true;
    expect(failed.code).toBe(400);
    expect(failed.message).toMatch(/the upstream could not connect to it: dial tcp .* refused$/);
  });
});

describe("qBittorrent", () => {
  let qbittorrent: QbittorrentNox | undefined;

  beforeEach(needs("qbittorrent-nox"));
  afterAll(() => qbittorrent?.stop());

  test("is connected by Mooring and by the site, too", async () => {
    qbittorrent = await startQbittorrentNox();
    const token = await front.login();
    const login = { user: "admin", password: "adminadmin" };
    const body = { url: qbittorrent.url(login), seedtime: "7" };
    const reply = await front.call("POST", "/api/admin/setting/set_qbit", { token, body });
    expect(reply.code, reply.message).toBe(200);
    expect(front.site.count("POST /api/admin/setting/set_qbit")).toBe(1);
    expect([front.site.value("qbittorrent_url"), front.site.value("qbittorrent_seedtime")]).toEqual(
      [body.url, "7"],
    );
  });
});

test("the way back: the site is unchanged except for saved values", async () => {
  const leaving = await startFront();
  const before = new Map([...leaving.site.settings.rows].map(([key, row]) => [key, { ...row }]));
  const body = [{ key: "site_title", value: "kept" }];
  await leaving.call("POST", "/api/admin/setting/save", { token: TOKEN, body });
  await soon(() => leaving.site.value("site_title")).toBe("kept");
  await leaving.service.stop();
  const after = [...leaving.site.settings.rows].filter(
    ([key, row]) => JSON.stringify(row) !== JSON.stringify(before.get(key)),
  );
  expect(after).toEqual([["site_title", { ...before.get("site_title"), value: "kept" }]]);
  const own = await fetch(`${leaving.site.url}/api/public/settings`);
  expect(await own.json()).toMatchObject({ code: 200, data: { site_title: "kept" } });
  await leaving.site.stop();
});
