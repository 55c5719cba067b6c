import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { type Aria2c, startAria2c } from "../../downloaders/aria2c.ts";
import { serveHttp, serveTcp } from "../../downloaders/loopback.ts";
import { needs } from "../../downloaders/program.ts";
import { type QbittorrentNox, startQbittorrentNox } from "../../downloaders/qbittorrent-nox.ts";
import { startedForAll } from "../../started.ts";
import { transports } from "../../wire/all-transports.ts";
import { startService, TOKEN } from "../../wire/service.ts";
import { invoke, type Outcome, read } from "../../wire/transport/transport.ts";

const { setAria2, setQbittorrent, batchGetSettings } = SettingService.method;

const chosen = transports.filter(({ name }) => name === "REST" || name === "gRPC");

/** Passwords of these tests, which must be nowhere but in the settings. */
const SECRETS = { right: "Secret-right-7f3a", wrong: "Secret-wrong-91bc" } as const;

describe.each(chosen)("over $name", ({ open }) => {
  const service = startedForAll(startService);
  const transport = startedForAll(() => open(service));

  const stored = async (...keys: readonly string[]): Promise<string[]> => {
    const { settings } = await read(transport, batchGetSettings, { keys });
    return (settings as { value: string }[]).map(({ value }) => value);
  };

  /** A refusal with this message, which has stored nothing and quotes no password. */
  const refusal = async (
    outcome: Outcome,
    code: Code,
    message: RegExp,
    before: readonly string[],
    ...keys: readonly string[]
  ): Promise<void> => {
    expect(outcome).toMatchObject({
      kind: "failure",
      code: transport.codeOf(code),
      message: expect.stringMatching(message),
    });
    expect(JSON.stringify(outcome)).not.toMatch(/Secret-/);
    expect(await stored(...keys)).toEqual(before);
  };

  describe("set_aria2", () => {
    let aria2: Aria2c | undefined;
    const KEYS = ["aria2_uri", "aria2_secret"] as const;
    const set = (uri: string, secret: string): Promise<Outcome> =>
      invoke(transport, setAria2, { uri, secret });

    beforeEach(needs("aria2c"));

    beforeAll(async () => {
      aria2 = await startAria2c({ secret: SECRETS.right }).catch(() => undefined);
    });

    afterAll(() => aria2?.stop());

    test.each(["http", "ws"] as const)(
      "answers with the bare version over %s, and stores address and secret",
      async (scheme) => {
        const uri = aria2?.uri(scheme) ?? "";
        const outcome = await set(uri, SECRETS.right);
        expect(outcome).toMatchObject({
          kind: "reply",
          message: { version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
        });
        expect(await stored(...KEYS)).toEqual([uri, SECRETS.right]);
      },
    );

    test.each(["http", "ws"] as const)(
      "reports over %s that the secret is wrong",
      async (scheme) => {
        const before = await stored(...KEYS);
        const outcome = await set(aria2?.uri(scheme) ?? "", SECRETS.wrong);
        await refusal(outcome, Code.FailedPrecondition, /secret/i, before, ...KEYS);
      },
    );

    test("reports a refused connection", async () => {
      const before = await stored(...KEYS);
      const unused = `http://127.0.0.1:${await freePort()}/jsonrpc`;
      const outcome = await set(unused, SECRETS.right);
      await refusal(
        outcome,
        Code.Unavailable,
        /connect failed: connection refused/,
        before,
        ...KEYS,
      );
    });

    test("reports that the server has stopped, and keeps the stored values", async () => {
      const leaving = await startAria2c({ secret: SECRETS.right });
      const uri = leaving.uri("http");
      expect(await set(uri, SECRETS.right)).toMatchObject({ kind: "reply" });
      await leaving.stop();
      const outcome = await set(uri, SECRETS.right);
      await refusal(outcome, Code.Unavailable, /refused/, [uri, SECRETS.right], ...KEYS);
    });

    test("accepts an empty secret for an aria2 without one", async () => {
      const open = await startAria2c();
      try {
        expect(await set(open.uri("http"), "")).toMatchObject({ kind: "reply" });
        expect(await stored(...KEYS)).toEqual([open.uri("http"), ""]);
      } finally {
        await open.stop();
      }
    });
  });

  describe("set_aria2 with another server", () => {
    const KEYS = ["aria2_uri", "aria2_secret"] as const;
    const set = (port: number): Promise<Outcome> => {
      const uri = `http://127.0.0.1:${port}/jsonrpc`;
      return invoke(transport, setAria2, { uri, secret: SECRETS.wrong });
    };

    test.each([
      ["garbage", "\u0000\u0001garbage\r\n\r\n", /reply failed/],
      ["another protocol", "220 ready\r\n", /reply failed/],
    ])("reports that it is %s", async (_name, bytes, message) => {
      const before = await stored(...KEYS);
      const garbage = await serveTcp((socket) => void socket.end(bytes));
      await refusal(await set(garbage.port), Code.Unavailable, message, before, ...KEYS);
    });

    test("reports that a web page is not JSON-RPC", async () => {
      const before = await stored(...KEYS);
      const page = await serveHttp((_request, response) => void response.end("<html>"));
      await refusal(await set(page.port), Code.Unavailable, /JSON-RPC/, before, ...KEYS);
    });

    test("follows no redirect", async () => {
      const before = await stored(...KEYS);
      const elsewhere = await serveHttp((_request, response) => {
        response.writeHead(302, { location: `/?${SECRETS.wrong}` }).end();
      });
      await refusal(
        await set(elsewhere.port),
        Code.Unavailable,
        /302: redirected/,
        before,
        ...KEYS,
      );
    });
  });

  describe("set_qbit", () => {
    let qbit: QbittorrentNox | undefined;
    const KEYS = ["qbittorrent_url", "qbittorrent_seedtime"] as const;
    const right = { user: "admin", password: SECRETS.right };
    const wrong = { user: "admin", password: SECRETS.wrong };
    const set = (url: string, seedtime: number): Promise<Outcome> =>
      invoke(transport, setQbittorrent, { url, seedtime });

    beforeEach(needs("qbittorrent-nox"));

    beforeAll(async () => {
      const options = { password: SECRETS.right, maxFailures: 3 };
      qbit = await startQbittorrentNox(options).catch(() => undefined);
    });

    afterAll(() => qbit?.stop());

    test("answers ok, and stores address and seeding time", async () => {
      const url = qbit?.url(right) ?? "";
      expect(await set(url, 90)).toMatchObject({ kind: "reply", message: { status: "ok" } });
      expect(await stored(...KEYS)).toEqual([url, "90"]);
    });

    test("reports that the login was refused, and finally that this machine is banned", async () => {
      const before = await stored(...KEYS);
      const url = qbit?.url(wrong) ?? "";
      for (let attempt = 0; attempt < 3; attempt += 1)
        await refusal(
          await set(url, 1),
          Code.FailedPrecondition,
          /log.?in|password/i,
          before,
          ...KEYS,
        );
      const banned = await set(qbit?.url(right) ?? "", 1);
      await refusal(banned, Code.FailedPrecondition, /banned/, before, ...KEYS);
    });

    test("reports that it has stopped", async () => {
      const before = await stored(...KEYS);
      await qbit?.stop();
      const outcome = await set(qbit?.url(right) ?? "", 1);
      await refusal(
        outcome,
        Code.Unavailable,
        /connect failed: connection refused/,
        before,
        ...KEYS,
      );
    });
  });

  describe("set_qbit with another server", () => {
    const KEYS = ["qbittorrent_url", "qbittorrent_seedtime"] as const;
    const set = (port: number): Promise<Outcome> => {
      const url = `http://admin:${SECRETS.wrong}@127.0.0.1:${port}/`;
      return invoke(transport, setQbittorrent, { url, seedtime: 1 });
    };

    test("reports that a web page is not qBittorrent", async () => {
      const before = await stored(...KEYS);
      const page = await serveHttp((_request, response) => void response.end("<html>"));
      await refusal(await set(page.port), Code.Unavailable, /qBittorrent/, before, ...KEYS);
    });

    test.each([
      ["200 and Ok.", 200, "Ok."],
      ["204", 204, ""],
    ])("accepts %s as a login", async (_name, status, body) => {
      let loggedIn = false;
      const fake = await serveHttp((request, response) => {
        if (request.url?.endsWith("/auth/login")) {
          loggedIn = true;
          response.writeHead(status, { "set-cookie": "SID=Secret-cookie; path=/" }).end(body);
        } else if (loggedIn) response.end("v5.2.0");
        else response.writeHead(403).end();
      });
      expect(await set(fake.port)).toMatchObject({ kind: "reply", message: { status: "ok" } });
    });
  });

  test("both time out on a server that never answers", async () => {
    const keys = ["aria2_uri", "aria2_secret", "qbittorrent_url", "qbittorrent_seedtime"];
    const before = await stored(...keys);
    const silent = await serveTcp(() => {});
    const uri = `http://127.0.0.1:${silent.port}/`;
    const url = `http://admin:${SECRETS.wrong}@127.0.0.1:${silent.port}/`;
    const outcomes = await Promise.all([
      invoke(transport, setAria2, { uri, secret: SECRETS.wrong }),
      invoke(transport, setQbittorrent, { url, seedtime: 1 }),
    ]);
    for (const outcome of outcomes)
      await refusal(outcome, Code.DeadlineExceeded, /time-out: 5 s/, before, ...keys);
  });

  test("no password is in the log", () => {
    expect(service.log()).not.toMatch(/Secret-/);
    expect(service.log()).not.toContain(TOKEN);
  });
});
