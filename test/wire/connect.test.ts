import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveTcp } from "../downloaders/loopback.ts";
import { startedForAll } from "../started.ts";
import { checkReply } from "./rest-case.ts";
import { startService, TOKEN } from "./service.ts";
import { type HttpRequest, http1Sender, http2Sender, type SendHttp } from "./transport/http.ts";

const SETTINGS = "/mooring.v1.SettingService";
const PUBLIC = "/mooring.v1.PublicService";
const JSON_TYPE = { "content-type": "application/json", "connect-protocol-version": "1" };

/** A Connect request with JSON text as its body, by the admin. */
function rpc(body: string, headers: Record<string, string> = {}): HttpRequest {
  const all = { ...JSON_TYPE, authorization: TOKEN, ...headers };
  return { method: "POST", body, headers: all };
}

describe.each(["HTTP/1.1", "HTTP/2"])("Connect on the wire over %s", (version) => {
  const service = startedForAll(startService);
  let send: SendHttp;
  let close = (): void => {};

  beforeAll(async () => {
    if (version === "HTTP/1.1") send = http1Sender(service.port);
    else ({ send, close } = http2Sender(service.port));
  });

  afterAll(() => close());

  test.each([
    [
      "SaveMounts",
      '{"mounts":[{"name":"c","order":1}]}',
      /^body: mounts\[0\]\.order: no such member/,
    ],
    [
      "DeleteMounts",
      '{"names":["c"],"dry":true}',
      /^body: dry: no such member; did you mean dry_run/,
    ],
    ["DeleteMounts", '{"names":["c"],"site":"quay"}', /^body: site: no such member$/],
    ["ListMounts", '{"sites":"quay"}', /^body: sites: no such member; did you mean site\?/],
  ])("a member that %s does not have is refused: %s", async (rpcName, body, message) => {
    const reply = await send(`/mooring.v1.MountService/${rpcName}`, rpc(body));
    expect(reply.json).toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(message),
    });
  });

  test("an error has the protocol's own form, status and details", async () => {
    const body = '{"settings":[{"key":"default_page_size","value":"x"}]}';
    const reply = await send(`${SETTINGS}/SaveSettings`, rpc(body));
    expect(reply.status).toBe(400);
    expect(reply.json).toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/^default_page_size: /),
      details: [
        { type: "google.rpc.BadRequest", value: expect.any(String) },
        { type: "google.rpc.ErrorInfo", value: expect.any(String) },
      ],
    });
    checkReply(reply);
  });

  test.each([
    ["a body that is not JSON", "{", {}, 400],
    ["JSON of the wrong type", '{"key":1}', {}, 400],
    ["an array instead of the message", "[]", {}, 400],
    ["an unknown encoding of messages", "{}", { "content-type": "application/xml" }, 415],
    ["an unknown compression", "{}", { "content-encoding": "zstd" }, 501],
    ["an invalid time-out", "{}", { "connect-timeout-ms": "soon" }, 400],
  ])("%s is refused, without internals of the program", async (_name, body, headers, status) => {
    const reply = await send(`${SETTINGS}/GetSetting`, rpc(body, headers));
    expect(reply.status, reply.text).toBe(status);
    checkReply(reply);
  });

  test("unknown members are ignored", async () => {
    const reply = await send(`${SETTINGS}/GetSetting`, rpc('{"key":"logo","later":[{}]}'));
    expect(reply).toMatchObject({ status: 200, json: { setting: { key: "logo" } } });
  });

  test("members have the contract's own names, and all are present", async () => {
    const { json } = await send(
      `${SETTINGS}/GetSetting`,
      rpc('{"key":"logo","mask_secrets":true}'),
    );
    expect(json).toMatchObject({ setting: { help: expect.any(String), group: 2, flag: 0 } });
    expect(Object.keys((json as { setting: object }).setting)).toEqual(
      expect.arrayContaining(["key", "value", "help", "type", "options", "group", "flag"]),
    );
  });

  test("a message that exceeds 8 MiB after decompression is refused", async () => {
    const text = `{"settings":[{"key":"a","value":"${"x".repeat(9 * 1024 * 1024)}"}]}`;
    const request = { ...rpc("", { "content-encoding": "gzip" }), body: gzipSync(text) };
    const reply = await send(`${SETTINGS}/SaveSettings`, request);
    expect(reply).toMatchObject({ status: 429, json: { code: "resource_exhausted" } });
  });

  test("a deadline ends the call on both sides", async () => {
    const silent = await serveTcp(() => {});
    const body = JSON.stringify({ uri: `http://127.0.0.1:${silent.port}/`, secret: "" });
    const request = rpc(body, { "connect-timeout-ms": "300" });
    const reply = await send(`${SETTINGS}/SetAria2`, request);
    expect(reply).toMatchObject({ status: 504, json: { code: "deadline_exceeded" } });
    await silent.idle();
  });

  test("GET is accepted for reads only", async () => {
    const query = "connect=v1&encoding=json&message=%7B%7D";
    const read = await send(`${PUBLIC}/GetPublicSettings?${query}`);
    expect(read).toMatchObject({ status: 200, json: { settings: { site_title: "OpenList" } } });
    const headers = { authorization: TOKEN };
    const write = await send(`${SETTINGS}/ResetToken?${query}`, { headers });
    expect(write.status).toBe(405);
    const names = await send(`/mooring.v1.DriverService/ListDriverNames?${query}`, { headers });
    expect(names.status).toBe(200);
  });

  test("a method or service that does not exist gets 404", async () => {
    for (const path of [`${PUBLIC}/Nope`, "/nope.v1.NopeService/Nope"]) {
      const reply = await send(path, rpc("{}"));
      expect(reply.status, path).toBe(404);
      checkReply(reply);
    }
  });
});
