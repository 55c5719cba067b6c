import { rm } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newDatabaseFolder } from "../store/folder.ts";
import { exchange } from "./raw/line.ts";
import { startService, type TestService, TOKEN } from "./service.ts";
import {
  type FrontedSite,
  type FrontOptions,
  lastPassed,
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
  test("adopts the site's texts and overwrites none", async () => {
    const { data } = await front.call("GET", "/api/public/settings");
    expect(data.announcement).toBe(front.site.value("announcement"));
    expect(front.site.saves).toEqual([]);
  });

  test("without a token is delayed until the first admin; the site serves itself until then", async () => {
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

  test("does not delay a save right after it", async () => {
    await another({ siteTimes: { tick: 3_600_000 } });
    await save(await front.login(), [{ key: "site_title", value: "At once" }]);
    await soon(() => front.site.value("site_title")).toBe("At once");
  });

  test("with a site that is down at the start is made when it is up", async () => {
    const { site } = front;
    await site.stop();
    expect((await front.call("GET", "/anything")).status).toBe(502);
    await site.start();
    expect((await front.call("GET", "/anything")).status).toBe(200);
  });
});

describe("an admin of the site", () => {
  test("reads and saves with a login; the value is on the site before the reply", async () => {
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

  test("is told that the site's own token is not saved, and not that old values of the site are not", async () => {
    const token = await front.login();
    const items = await group(token, 0);
    const shown = items.find(({ key }) => key === "token");
    expect(shown).toBeDefined();
    expect(await save(token, items)).toMatchObject({ code: 200, message: "success" });
    const changed = items.map((item) =>
      item.key === "token" ? { ...item, value: "x".repeat(40) } : item,
    );
    expect(await save(token, changed)).toMatchObject({
      code: 207,
      message: expect.stringMatching(/^not saved: token\. It belongs to the server/),
    });
    expect(front.site.token()).not.toBe("x".repeat(40));
    const old = { key: "index_progress", value: "{}" };
    expect(await save(token, [old])).toMatchObject({ code: 200, message: "success" });
  });

  test("is distinguished from another user by the site's own message", async () => {
    const list = (token?: string) =>
      front.call("GET", "/api/admin/setting/list", token === undefined ? {} : { token });
    expect(await list()).toMatchObject({ status: 200, code: 401 });
    expect(await list("wrong")).toMatchObject({ code: 401, message: "token is invalidated" });
    const ann = await front.login("ann", "ann-password");
    expect(await list(ann)).toMatchObject({ code: 403, message: "You are not an admin" });
    expect(await list(TOKEN)).toMatchObject({ code: 200 });
    expect(await list(front.site.token())).toMatchObject({ code: 200 });
  });

  test("is not requested from the site without the header, even when the site's token is empty", async () => {
    front.site.put("token", "");
    const countBefore = front.site.count("GET /api/me");
    expect((await front.call("GET", "/api/admin/setting/list")).code).toBe(401);
    expect(front.site.count("GET /api/me")).toBe(countBefore);
  });

  test("loses the right at once by a logout, and by a new password", async () => {
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

  test("is requested once for concurrent calls", async () => {
    const token = await front.login();
    const countBefore = front.site.count("GET /api/me");
    const list = () => front.call("GET", "/api/admin/setting/list", { token });
    await Promise.all(Array.from({ length: 20 }, list));
    await list();
    expect(front.site.count("GET /api/me")).toBe(countBefore + 1);
  });

  test("of a site that does not answer is 502, never a right", async () => {
    const token = await front.login();
    await front.site.stop();
    const reply = await front.call("GET", "/api/admin/setting/list", { token });
    expect([reply.status, reply.code]).toEqual([502, 502]);
    await front.site.start();
  });

  test("gets the site's token and version, and cannot change Mooring's", async () => {
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

  test("resets the site's token, and Mooring continues with the new one", async () => {
    const token = await front.login();
    const former = front.site.token();
    // Used just before, so that its admin is remembered.
    expect((await front.call("GET", "/api/admin/setting/list", { token: former })).code).toBe(200);
    const reply = await front.call("POST", "/api/admin/setting/reset_token", { token });
    expect(reply.data).toBe(front.site.token());
    expect((await front.call("GET", "/api/admin/setting/list", { token: former })).code).toBe(401);
    await save(token, [{ key: "site_title", value: "after the reset" }]);
    expect(front.site.value("site_title")).toBe("after the reset");
    expect(textOf(await group(TOKEN, 0), "token")).toBe(TOKEN);
  });

  test("adopts changes by the site's own calls before the reply", async () => {
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
  test("does not revert changes made elsewhere since it was loaded", async () => {
    const token = await front.login();
    const page = await group(token);
    await save(TOKEN, [{ key: "robots_txt", value: "another change" }]);
    const sent = page.map((item) =>
      item.key === "site_title" ? { ...item, value: "mine" } : item,
    );
    expect(await save(token, sent)).toMatchObject({
      code: 207,
      message: expect.stringContaining("not saved: robots_txt. "),
    });
    const now = await group(token);
    expect([textOf(now, "robots_txt"), textOf(now, "site_title")]).toEqual([
      "another change",
      "mine",
    ]);
  });

  test("overwrites a setting that both have changed", async () => {
    const token = await front.login();
    const page = await group(token);
    await save(TOKEN, [{ key: "site_title", value: "theirs" }]);
    const sent = page.map((item) =>
      item.key === "site_title" ? { ...item, value: "mine" } : item,
    );
    await save(token, sent);
    expect(textOf(await group(token), "site_title")).toBe("mine");
  });

  test("with a whole backup restores everything, despite changes since", async () => {
    const token = await front.login();
    const { data: backup } = await front.call("GET", "/api/admin/setting/list", { token });
    await save(TOKEN, [{ key: "site_title", value: "changed since" }]);
    expect((await save(token, backup)).code).toBe(200);
    expect(textOf(await group(token), "site_title")).toBe(textOf(backup, "site_title"));
  });
});

describe("a second start", () => {
  test("adopts changes made there in between, with the site's current token", async () => {
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
    // Its token has changed: the configured one is not tried before the stored one.
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
  test("with a slow site the reply reports that the change is in progress", async () => {
    await another({ siteTimes: { patience: 50 } });
    const token = await front.login();
    await group(token);
    const release = Promise.withResolvers<void>();
    front.site.mode = { kind: "held", until: release.promise };
    const reply = await save(TOKEN, [{ key: "site_title", value: "slowly" }]);
    expect([reply.code, reply.headers.get("mooring-upstream")]).toEqual([200, "pending"]);
    release.resolve();
    await soon(() => front.site.value("site_title")).toBe("slowly");
  });

  test("a service in front of itself is detected", async () => {
    await another({ env: {} });
    const text = await exchange(front.service.port, [
      "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    ]);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    const via = lastPassed(front)?.headers.via ?? "";
    const again = await exchange(front.service.port, [
      `GET /x HTTP/1.1\r\nHost: h\r\nVia: ${via}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(again).toMatch(/^HTTP\/1\.1 508 /);
  });

  test("the upstream cannot be a second site", async () => {
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
