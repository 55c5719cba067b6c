import type { IncomingMessage, ServerResponse } from "node:http";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { createQbittorrentClient } from "../../src/downloaders/qbittorrent.ts";
import { serveHttp } from "../loopback.ts";
import { expectFailure, failureOf } from "./failure.ts";

// Replies of other versions than the installed one, and replies that qBittorrent never sends.

const PASSWORD = "hünter2 &=+%hunter2";
const LOGIN = `admin:${encodeURIComponent(PASSWORD)}@`;
const client = createQbittorrentClient();

type Handler = (response: ServerResponse, request: IncomingMessage, body: string) => unknown;

/** A fake Web API with replaceable calls. Default: version 5.2. */
async function serveWebApi(handlers: Readonly<Record<string, Handler>> = {}) {
  const calls: string[] = [];
  const forms: URLSearchParams[] = [];
  const api: Record<string, Handler> = {
    "GET app/version": (response, { headers }) =>
      headers.cookie === "QBT_SID_8080=abc=/+" ? response.end("v5.2.3") : status(response, 403),
    "POST auth/login": (response) => {
      response.setHeader("set-cookie", "QBT_SID_8080=abc=/+; HttpOnly; SameSite=Strict; path=/");
      status(response, 204);
    },
    "POST auth/logout": (response) => status(response, 204),
    ...handlers,
  };
  const peer = await serveHttp(async (request, response) => {
    const call = `${request.method} ${request.url?.replace("/a%20b/api/v2/", "")}`;
    calls.push(`${call}${request.headers.cookie === undefined ? "" : " with cookie"}`);
    const body = String(await request.toArray());
    if (call === "POST auth/login") forms.push(new URLSearchParams(body));
    const handler = api[call];
    return handler === undefined ? status(response, 404) : handler(response, request, body);
  });
  const url = (login: string) => `http://${login}127.0.0.1:${peer.port}/a%20b`;
  return { ...peer, url, calls, forms };
}

function status(response: ServerResponse, code: number, body = ""): void {
  response.writeHead(code).end(body);
}

describe("a qBittorrent 5.2", () => {
  it("accepts a login with 204, a request with its cookie, and a logout", async () => {
    const peer = await serveWebApi();
    const reply = await client.checkLogin({ url: `${peer.url(LOGIN)}?x=${PASSWORD}#/` });
    expect(reply).toEqual({ version: "v5.2.3" });
    expect(peer.calls).toEqual([
      "GET app/version",
      "POST auth/login",
      "GET app/version with cookie",
      "POST auth/logout with cookie",
    ]);
    expect(peer.forms.map((form) => [...form])).toEqual([
      [
        ["username", "admin"],
        ["password", PASSWORD],
      ],
    ]);
    await peer.idle();
  });

  it("refuses a login with 401", async () => {
    const peer = await serveWebApi({ "POST auth/login": (response) => status(response, 401) });
    const error = await failureOf(client.checkLogin({ url: peer.url(LOGIN) }));
    const pattern = /: login refused: wrong user name or password\./;
    expectFailure(error, Code.FailedPrecondition, pattern, [PASSWORD, LOGIN]);
    expect(peer.calls).toEqual(["GET app/version", "POST auth/login"]);
  });

  it("whose logout fails is no failure", async () => {
    const peer = await serveWebApi({ "POST auth/logout": (response) => response.destroy() });
    await expect(client.checkLogin({ url: peer.url(LOGIN) })).resolves.toBeDefined();
  });

  it("whose logout never ends does not exceed the time-out of the call", async () => {
    const peer = await serveWebApi({ "POST auth/logout": () => undefined });
    const hasty = createQbittorrentClient({ timeoutMs: 500 });
    await expect(hasty.checkLogin({ url: peer.url(LOGIN) })).resolves.toBeDefined();
    await peer.idle();
  });

  it("has one time-out for all requests together", async () => {
    const peer = await serveWebApi({ "POST auth/login": () => undefined });
    const hasty = createQbittorrentClient({ timeoutMs: 300 });
    const error = await failureOf(hasty.checkLogin({ url: peer.url(LOGIN) }));
    expectFailure(error, Code.DeadlineExceeded, /: time-out: 0.3 s expired/, [PASSWORD, LOGIN]);
    await peer.idle();
  });
});

describe("a service that answers with", () => {
  const { FailedPrecondition, Unavailable } = Code;
  const version = "GET app/version";
  const login = "POST auth/login";
  it.for([
    [
      "401 to the first request",
      version,
      401,
      "",
      FailedPrecondition,
      /: refused by the Host header/,
    ],
    ["404", version, 404, "", Unavailable, /: HTTP status 404\. .*Web UI/],
    ["500", version, 500, PASSWORD, Unavailable, /: HTTP status 500\./],
    ["204", version, 204, "", Unavailable, /: HTTP status 204\./],
    ["a web page", version, 200, `<html>${PASSWORD}`, Unavailable, /: the reply is not one of/],
    ["nothing", version, 200, "", Unavailable, /: the reply is not one of/],
    ["the password", version, 200, PASSWORD, Unavailable, /: the reply is not one of/],
    [
      "a long version",
      version,
      200,
      `v${"1".repeat(70)}`,
      Unavailable,
      /: the reply is not one of/,
    ],
    [
      "403 to the login",
      login,
      403,
      PASSWORD,
      FailedPrecondition,
      /: banned after too many failed/,
    ],
    ["Fails. to the login", login, 200, "Fails.", FailedPrecondition, /: login refused/],
    ["a web page to the login", login, 200, "<p>Ok.</p>", Unavailable, /: the reply is not one of/],
    ["404 to the login", login, 404, "", Unavailable, /: HTTP status 404\./],
    ["no cookie to the login", login, 200, "Ok.", FailedPrecondition, /: the login succeeded, but/],
  ] as const)("%s", async ([, call, code, body, expected, pattern]) => {
    const peer = await serveWebApi({ [call]: (response) => status(response, code, body) });
    const error = await failureOf(client.checkLogin({ url: peer.url(LOGIN) }));
    expectFailure(error, expected, pattern, [PASSWORD, LOGIN, encodeURIComponent(PASSWORD)]);
    expect(error.message).toContain(`qBittorrent at http://127.0.0.1:${peer.port}/a%20b: `);
    await peer.idle();
  });

  it("a version and a session without a login is logged out of", async () => {
    const peer = await serveWebApi({
      "GET app/version": (response) => response.setHeader("set-cookie", "SID=x").end("v4.6.0\n"),
    });
    expect(await client.checkLogin({ url: peer.url("") })).toEqual({ version: "v4.6.0" });
    expect(peer.calls).toEqual(["GET app/version", "POST auth/logout with cookie"]);
  });

  it("cookies without a name or value is accepted", async () => {
    const lines = ["", "=", "=x", ";", "SID", "a b=c", "SID=1; path=/"];
    const peer = await serveWebApi({
      "GET app/version": (response) => response.setHeader("set-cookie", lines).end("v4.6.0"),
    });
    await expect(client.checkLogin({ url: peer.url("") })).resolves.toBeDefined();
  });
});
