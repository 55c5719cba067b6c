import { rm } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newDatabaseFolder } from "../store/folder.ts";
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

  test("a save right after it waits for no beat", async () => {
    await another({ siteTimes: { beat: 3_600_000 } });
    await save(await front.login(), [{ key: "site_title", value: "At once" }]);
    await soon(() => front.site.value("site_title")).toBe("At once");
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

  test("a request without the header is not asked about, even when the site's token is empty", async () => {
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
  test("does not revert what was changed elsewhere since it was loaded", async () => {
    const token = await front.login();
    const page = await group(token);
    await save(TOKEN, [{ key: "robots_txt", value: "another change" }]);
    const sent = page.map((item) =>
      item.key === "site_title" ? { ...item, value: "mine" } : item,
    );
    expect((await save(token, sent)).code).toBe(200);
    const now = await group(token);
    expect([textOf(now, "robots_txt"), textOf(now, "site_title")]).toEqual([
      "another change",
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

describe("a second start", () => {
  test("takes what was changed there meanwhile, with the token that the site has by then", async () => {
    const { site } = front;
    const folder = newDatabaseFolder();
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
    const goOn = Promise.withResolvers<void>();
    front.site.mode = { kind: "held", until: goOn.promise };
    const reply = await save(TOKEN, [{ key: "site_title", value: "slowly" }]);
    expect([reply.code, reply.headers.get("mooring-upstream")]).toEqual([200, "pending"]);
    goOn.resolve();
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
