import http from "node:http";
import { Code } from "@connectrpc/connect";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { createQbittorrentClient } from "../../../src/downloaders/qbittorrent.ts";
import { expectFailure, failureOf } from "../../downloaders/failure.ts";
import { needs } from "../../downloaders/program.ts";
import {
  type QbittorrentNoxOptions,
  startQbittorrentNox,
} from "../../downloaders/qbittorrent-nox.ts";
import { serveHttp } from "../../loopback.ts";

const LOGIN = { user: "ad:min", password: "p@ss/wörd%?#" };
const WRONG = { user: "ad:min", password: "guess-work" };
const VERSION = /^v\d+\.\d+\.\d+$/;
const client = createQbittorrentClient();

async function start(options: QbittorrentNoxOptions = {}) {
  const program = await startQbittorrentNox({ ...LOGIN, ...options });
  onTestFinished(program.stop);
  return program;
}

describe("with a real qBittorrent", () => {
  beforeEach(needs("qbittorrent-nox"));

  it("logs in with the user name and password of the address", async () => {
    const program = await start();
    const { version } = await client.checkLogin({ url: program.url(LOGIN) });
    expect(version).toMatch(VERSION);
  });

  it("refuses a wrong password, then reports that it banned this server", async () => {
    const program = await start({ maxFailures: 1 });
    const url = program.url(WRONG);
    const refused = await failureOf(client.checkLogin({ url }));
    expectFailure(
      refused,
      Code.FailedPrecondition,
      /: login refused: wrong user name or password/,
      [WRONG.password],
    );
    expect(refused.message).toContain(`qBittorrent at http://127.0.0.1:${program.port}/: `);
    const banned = await failureOf(client.checkLogin({ url: program.url(LOGIN) }));
    expectFailure(banned, Code.FailedPrecondition, /: banned .*403.*Web UI options/, [
      LOGIN.password,
      encodeURIComponent(LOGIN.password),
    ]);
  });

  it("does not log in without a user name, which would cause a ban", async () => {
    const program = await start({ maxFailures: 1 });
    for (let attempt = 0; attempt < 3; attempt++) {
      const error = await failureOf(client.checkLogin({ url: program.url() }));
      expectFailure(error, Code.FailedPrecondition, /: login refused: .*the address has none/);
    }
    await expect(client.checkLogin({ url: program.url(LOGIN) })).resolves.toBeDefined();
  });

  it("needs no login if it exempts this machine", async () => {
    const program = await start({ bypass: true });
    for (const url of [program.url(), program.url(WRONG)]) {
      expect((await client.checkLogin({ url })).version).toMatch(VERSION);
    }
  });

  it("names the connect step after a stop", async () => {
    const url = `http://me:${WRONG.password}@127.0.0.1:${await freePort()}/`;
    const error = await failureOf(client.checkLogin({ url }));
    const words = /: connect failed: connection refused.*ECONNREFUSED.*Web UI.*container/;
    expectFailure(error, Code.Unavailable, words, [WRONG.password]);
  });

  it("names the Host header check when it is called by an unknown name", async () => {
    const program = await start({ serverDomains: "127.0.0.1" });
    const proxy = await reverseProxy(program.port, "/", "another.example");
    const url = `http://me:${WRONG.password}@127.0.0.1:${proxy.port}/`;
    const error = await failureOf(client.checkLogin({ url }));
    expectFailure(
      error,
      Code.FailedPrecondition,
      /: refused by the Host header or CSRF check.*401/,
      [WRONG.password],
    );
  });

  it.for(["/qb/", "/qb"])(
    "logs in below %s behind a proxy that changes the Host",
    async (folder) => {
      const program = await start();
      const proxy = await reverseProxy(program.port, "/qb/", `127.0.0.1:${program.port}`);
      const url = new URL(program.url(LOGIN));
      url.port = String(proxy.port);
      url.pathname = folder;
      const { version } = await client.checkLogin({ url: url.href });
      expect(version).toMatch(VERSION);
    },
  );
});

/** Passes requests below a folder on to a port, with the given Host header. */
async function reverseProxy(port: number, folder: string, host: string) {
  return await serveHttp((request, response) => {
    if (!request.url?.startsWith(folder)) return response.writeHead(404).end();
    const headers = { ...request.headers, host };
    const path = `/${request.url.slice(folder.length)}`;
    const { method } = request;
    const onward = http.request({ port, host: "127.0.0.1", path, method, headers, agent: false });
    onward.once("response", (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    return request.pipe(onward);
  });
}
