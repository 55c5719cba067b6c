import { describe, expect, test } from "vitest";
import { startedForEach } from "../started.ts";
import { exchange } from "./raw/line.ts";
import { TOKEN } from "./service.ts";
import { lastPassed, startFront } from "./upstream.ts";

const SET_TRANSMISSION = "/api/admin/setting/set_transmission";
const TRANSMISSION = { uri: "http://127.0.0.1:9091/rpc", seedtime: "5" };

const front = startedForEach(startFront);

const newest = async () =>
  (await front.rpc("SettingService/ListRevisions", { pageSize: 1 })).body.revisions[0];
const audited = async (method: string) =>
  (await front.rpc("AuditService/ListAuditEvents")).body.events.filter(
    (event: { method: string }) => event.method === method,
  );

describe("a request that is passed on", () => {
  test("below /api/ has the login in the server's form, and is unchanged elsewhere", async () => {
    const login = await front.login();
    const token = `Bearer ${login}`;
    expect((await front.call("GET", "/api/me", { token })).data.username).toBe("admin");
    expect(lastPassed(front)?.headers.authorization).toBe(login);
    await front.call("GET", "/dav/file", { token });
    expect(lastPassed(front)?.headers.authorization).toBe(token);
    await front.call("GET", "/api/me", { token: "Basic abc" });
    expect(lastPassed(front)?.headers.authorization).toBe("Basic abc");
  });

  test("has one header Authorization, the one that was checked", async () => {
    const login = await front.login();
    const ann = await front.login("ann", "ann-password");
    const send = (first: string, second: string) =>
      exchange(front.service.port, [
        `GET /api/me HTTP/1.1\r\nHost: h\r\nAuthorization: ${first}\r\nAuthorization: ${second}\r\n`,
        "Connection: close\r\n\r\n",
      ]);
    expect(await send(ann, login)).toContain('"username":"ann"');
    expect(await send(ann, `Bearer ${TOKEN}`)).toContain('"username":"ann"');
    const sent = lastPassed(front)?.rawHeaders ?? [];
    expect(sent.filter((name) => /^authorization$/i.test(name))).toHaveLength(1);
    expect(sent.join("\n")).not.toContain(TOKEN);
    expect(await send(`Bearer ${TOKEN}`, login)).toContain("login please");
  });

  test("has no token of a principal either", async () => {
    const { body: made } = await front.rpc("AccessService/CreateToken", {
      principal: "program",
      scopes: ["settings:read"],
    });
    for (const token of [made.secret, `Bearer ${made.secret}`]) {
      await front.call("GET", "/dav/file", { token });
      expect(lastPassed(front)?.url).toBe("/dav/file");
      expect(lastPassed(front)?.headers.authorization).toBeUndefined();
    }
  });

  test("to the contract with two headers Authorization is checked by one of them", async () => {
    const login = await front.login();
    const ann = await front.login("ann", "ann-password");
    const reply = await exchange(front.service.port, [
      "GET /api/admin/setting/list HTTP/1.1\r\nHost: h\r\n",
      `Authorization: ${ann}\r\nAuthorization: ${login}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(reply).toContain('"code":403');
  });
});

describe("a change by a path that is not in the contract", () => {
  test.each(["", "Bearer "])("has its admin in history and audit (%j)", async (before) => {
    const token = `${before}${await front.login()}`;
    const headers = { "x-request-id": "from-the-page-1" };
    const reply = await front.call("POST", SET_TRANSMISSION, {
      token,
      headers,
      body: TRANSMISSION,
    });
    expect(reply.code).toBe(200);
    const made = {
      actor: "upstream:admin",
      transport: "rest",
      method: "AdoptSite",
      request_id: "from-the-page-1",
      peer: "127.0.0.1",
    };
    expect(await newest()).toMatchObject({
      ...made,
      reason: "set_transmission at the upstream",
      keys: expect.arrayContaining(["transmission_uri"]),
    });
    expect((await audited("AdoptSite")).at(0)).toMatchObject({
      ...made,
      outcome: "OK",
      subjects: expect.arrayContaining(["transmission_uri"]),
    });
  });

  test("does not include earlier changes there", async () => {
    const token = await front.login();
    front.site.put("robots_txt", "changed on the server itself");
    await front.call("POST", SET_TRANSMISSION, { token, body: TRANSMISSION });
    const {
      body: { revisions },
    } = await front.rpc("SettingService/ListRevisions", { pageSize: 2 });
    expect(revisions).toMatchObject([
      { actor: "upstream:admin", keys: expect.not.arrayContaining(["robots_txt"]) },
      { actor: "sites", keys: ["robots_txt"] },
    ]);
  });

  test("has a request id when the client sent none", async () => {
    const token = await front.login();
    await front.call("POST", SET_TRANSMISSION, { token, body: TRANSMISSION });
    expect((await newest()).request_id).toMatch(/^\S+$/);
  });

  test("changes nothing here when a user who is not an admin attempts it", async () => {
    const before = (await newest()).revision;
    const token = await front.login("ann", "ann-password");
    const reply = await front.call("POST", SET_TRANSMISSION, { token, body: TRANSMISSION });
    expect(reply.code).toBe(403);
    expect((await newest()).revision).toBe(before);
  });

  test.each(["", "Bearer "])(
    "by a reset of the server's token has its admin (%j)",
    async (before) => {
      const token = `${before}${await front.login()}`;
      const headers = { "x-request-id": "reset-1" };
      const path = "/api/admin/setting/reset_token";
      const reply = await front.call("POST", path, { token, headers });
      expect(reply.data).toBe(front.site.token());
      const rows = await audited("UpdateSite");
      expect(rows).toContainEqual(
        expect.objectContaining({
          actor: "upstream:admin",
          transport: "rest",
          request_id: "reset-1",
          peer: "127.0.0.1",
          subjects: ["upstream"],
        }),
      );
      expect(JSON.stringify(rows)).not.toContain(front.site.token());
    },
  );
});
