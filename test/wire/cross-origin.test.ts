import { expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { checkReply } from "./rest-case.ts";
import { startService } from "./service.ts";
import { http1Sender } from "./transport/http.ts";

// The headers themselves: test/app/cors.test.ts.

const open = startedForAll(startService);
const listed = startedForAll(() =>
  startService({ env: { MOORING_CORS_ORIGINS: "https://other.example,http://localhost:3000" } }),
);
const origin = "https://files.example";
const preflight = {
  method: "OPTIONS",
  headers: { origin, "access-control-request-method": "POST" },
};

test.each([
  "/api/public/settings",
  "/api/admin/setting/save",
  "/mooring.v1.SettingService/SaveSettings",
  "/nowhere",
])("%s answers preflights, and its replies are readable by every origin", async (path) => {
  const send = http1Sender(open.port);
  const reply = await send(path, preflight);
  expect(reply).toMatchObject({ status: 204, headers: { "access-control-allow-origin": "*" } });
  expect(reply.headers["access-control-allow-headers"]).toMatch(/(^|, )Authorization(,|$)/);
  checkReply(reply);
  const { headers } = await send(path, { headers: { origin } });
  expect(headers["access-control-allow-origin"]).toBe("*");
  expect(headers["access-control-expose-headers"]).toMatch(/ETag/);
});

test("origins outside MOORING_CORS_ORIGINS are refused", async () => {
  const send = http1Sender(listed.port);
  const allowedOf = async (from: string) => {
    const { headers } = await send("/api/public/settings", { headers: { origin: from } });
    return headers["access-control-allow-origin"];
  };
  expect(await send("/api/public/settings", preflight)).toMatchObject({ json: { code: 403 } });
  expect(await allowedOf(origin)).toBeUndefined();
  expect(await allowedOf("http://localhost:3000")).toBe("http://localhost:3000");
});
