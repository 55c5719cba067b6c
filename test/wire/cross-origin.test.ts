import { describe, expect, test } from "vitest";
import { startedForAll } from "../started.ts";
import { checkReply } from "./rest-case.ts";
import { startService } from "./service.ts";
import { http1Sender } from "./transport/http.ts";

const SAVE = "/api/admin/setting/save";

describe("cross-origin requests", () => {
  const open = startedForAll(startService);
  const listed = startedForAll(() =>
    startService({
      env: { MOORING_CORS_ORIGINS: "https://other.example,http://localhost:3000" },
    }),
  );
  const origin = "https://files.example";
  const preflight = (method: string) => ({
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,content-type",
    },
  });
  const paths = [
    "/api/public/settings",
    SAVE,
    "/mooring.v1.SettingService/SaveSettings",
    "/nowhere",
  ];

  test("a preflight allows Authorization on every transport", async () => {
    const send = http1Sender(open.port);
    for (const path of paths) {
      const reply = await send(path, preflight("POST"));
      expect(reply.status, path).toBe(204);
      expect(reply.headers, path).toMatchObject({
        "access-control-allow-origin": "*",
        "access-control-allow-headers": expect.stringMatching(/(^|, )Authorization(,|$)/),
        "access-control-allow-methods": expect.stringContaining("POST"),
        "access-control-max-age": expect.stringMatching(/^\d+$/),
      });
      expect(reply.headers["access-control-allow-credentials"], path).toBeUndefined();
      checkReply(reply);
    }
  });

  test("replies are readable by every origin, errors as well", async () => {
    const send = http1Sender(open.port);
    for (const path of [...paths, "/api/admin/setting/list"]) {
      const { headers } = await send(path, { headers: { origin } });
      expect(headers["access-control-allow-origin"], path).toBe("*");
      expect(headers["access-control-expose-headers"], path).toMatch(/ETag/);
    }
  });

  test("with a list of origins others are refused", async () => {
    const send = http1Sender(listed.port);
    const refused = await send("/api/public/settings", preflight("GET"));
    expect(refused).toMatchObject({ status: 403, json: { code: 403 } });
    const headers = { origin: "http://localhost:3000" };
    const allowed = await send("/api/public/settings", { headers });
    expect(allowed.headers["access-control-allow-origin"]).toBe("http://localhost:3000");
    const { vary } = allowed.headers;
    expect(vary).toMatch(/Origin/);
    const other = await send("/api/public/settings", { headers: { origin } });
    expect(other.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("OPTIONS without a preflight returns the methods", async () => {
    const reply = await http1Sender(open.port)("/api/public/settings", { method: "OPTIONS" });
    const { allow } = reply.headers;
    expect(reply.status).toBe(204);
    expect(allow).toMatch(/GET/);
  });
});
