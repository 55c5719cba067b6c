import { expect, test } from "vitest";
import { defineRpc } from "../gateway/contract.ts";
import { createHttp, echo, gatewayOfTest } from "../gateway/gateway-server.ts";

const rpc = { http: { get: "/x" }, rest: { reply: "REPLY_ENVELOPE" } };
const open = (origins: "*" | string[]) =>
  gatewayOfTest({ methods: [echo(defineRpc(rpc))], origins });

const preflight = (origin: string) => ({
  method: "OPTIONS",
  headers: { origin, "access-control-request-method": "GET" },
});

test("a preflight is answered with all headers that browser clients of any transport send", async () => {
  const reply = await (await open("*")).send("/x", preflight("https://a.example"));
  expect(reply.status).toBe(204);
  expect(reply.headers["access-control-allow-origin"]).toBe("*");
  expect(reply.headers["access-control-max-age"]).toBe("7200");
  expect(reply.headers["access-control-allow-methods"]).toBe(
    "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
  );
  const named = String(reply.headers["access-control-allow-headers"]).toLowerCase().split(", ");
  expect(named).toEqual(
    expect.arrayContaining([
      "authorization",
      "content-type",
      "if-none-match",
      "if-match",
      "last-event-id",
      "connect-protocol-version",
      "connect-timeout-ms",
      "x-grpc-web",
      "x-user-agent",
      "grpc-timeout",
    ]),
  );
});

test("headers that clients read are exposed, also on errors", async () => {
  const one = await open("*");
  const headers = { origin: "https://a.example" };
  for (const reply of [
    await one.send("/x", { headers }),
    await one.send("/nope", { headers }),
    await one.send("/x", { headers, method: "PUT" }),
    await one.send("/x?small=a", { headers }),
  ]) {
    expect(reply.headers["access-control-allow-origin"]).toBe("*");
    const exposed = String(reply.headers["access-control-expose-headers"])
      .toLowerCase()
      .split(", ");
    expect(exposed).toEqual(
      expect.arrayContaining([
        "etag",
        "x-request-id",
        "retry-after",
        "grpc-status",
        "grpc-message",
      ]),
    );
    expect(reply.headers["access-control-allow-credentials"]).toBeUndefined();
  }
});

test("a request without Origin gets no CORS headers", async () => {
  const reply = await (await open("*")).send("/x");
  expect(reply.headers["access-control-allow-origin"]).toBeUndefined();
  expect(reply.headers.vary).toBeUndefined();
});

test("listed origins are allowed, and replies vary by Origin", async () => {
  const one = await open(["https://a.example", "http://localhost:3000/"]);
  for (const origin of ["https://a.example", "http://localhost:3000"]) {
    const reply = await one.send("/x", { headers: { origin } });
    expect(reply.headers["access-control-allow-origin"]).toBe(origin);
    expect(reply.headers.vary).toBe("Origin");
    expect((await one.send("/x", preflight(origin))).status).toBe(204);
  }
});

test.each(["https://b.example", "http://a.example", "https://a.example:8443", "null"])(
  "the origin %s, which is not listed, gets no headers and no preflight",
  async (origin) => {
    const one = await open(["https://a.example"]);
    const reply = await one.send("/x", { headers: { origin } });
    expect(reply.status).toBe(200);
    expect(reply.headers["access-control-allow-origin"]).toBeUndefined();
    expect(reply.headers.vary).toBe("Origin");
    const refused = await one.send("/x", preflight(origin));
    expect(refused.status).toBe(403);
    expect(refused.json).toMatchObject({ code: 403, data: null });
    expect(refused.headers["access-control-allow-methods"]).toBeUndefined();
  },
);

test("OPTIONS without the headers of a preflight is an ordinary request", async () => {
  const reply = await (await open("*")).send("/x", { method: "OPTIONS" });
  expect(reply.status).toBe(204);
  expect(reply.headers.allow).toBe("GET, HEAD, OPTIONS");
});

test.each([
  "a.example",
  "https://a.example/path",
  "*.example",
  "",
  "file:///x",
  "https://u@a.example",
])("%s as an origin fails the start", async (origin) => {
  await expect(createHttp({}, [origin])).rejects.toThrow(`"${origin}" is no origin`);
});
