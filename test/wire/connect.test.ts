import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "./service.ts";
import { type HttpRequest, http1Sender, http2Sender, type SendHttp } from "./transport/http.ts";

const SETTINGS = "/mooring.v1.SettingService";
const PUBLIC = "/mooring.v1.PublicService";
const JSON_TYPE = { "content-type": "application/json", "connect-protocol-version": "1" };

/** A Connect request with JSON text as its body, by the admin. */
function rpc(body: string): HttpRequest {
  return { method: "POST", body, headers: { ...JSON_TYPE, authorization: TOKEN } };
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

  test("a member that a call does not have is refused", async () => {
    // Every name: test/app/parameter.test.ts.
    const reply = await send("/mooring.v1.MountService/DeleteMounts", rpc('{"dry":true}'));
    expect(reply.json).toMatchObject({
      code: "invalid_argument",
      message: "body: dry: no such member; did you mean dry_run?",
    });
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
});
