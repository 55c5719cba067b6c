import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { fastify } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerClientError } from "../../src/gateway/client-error.ts";
import { createCors, registerCors } from "../../src/gateway/cors.ts";
import { answerError, answerNotFound, registerGateway } from "../../src/gateway/fastify-mount.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import { defineRpcs } from "./contract.ts";
import { echo, echoed, send } from "./door.ts";

const rest = { reply: "REPLY_ENVELOPE" };

const methods = defineRpcs([
  { name: "Get", http: { get: "/get", responseBody: "word" }, rest },
  { name: "Post", http: { post: "/post", body: "*", responseBody: "word" }, rest },
]).map(echo);

const cors = createCors({ origins: ["https://a.example"] });

const logged: string[] = [];

const app = fastify({
  frameworkErrors: answerError,
  clientErrorHandler: answerClientError,
  logger: { level: "error", stream: { write: (line: string) => void logged.push(line) } },
});

let port: number;

beforeAll(async () => {
  registerGateway(app, createGateway({ methods, httpStatus: "envelope", cors }));
  registerCors(app, cors);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler(answerNotFound);
  app.get("/own", () => ({ own: true }));
  app.get("/fails", () => {
    throw new Error("secret at /home/x.ts");
  });
  app.post("/own", () => ({ own: true }));
  await app.listen({ host: "127.0.0.1", port: 0 });
  port = (app.server.address() as AddressInfo).port;
});

afterAll(() => app.close());

test("serves the gateway's paths with Fastify's request id", async () => {
  const reply = await send(port, "/get?text=a");
  expect(echoed(reply)).toEqual({ text: "a" });
  expect(reply.headers["x-request-id"]).toMatch(/^req-/);
  expect(echoed(await send(port, "/post", { method: "POST", body: { text: "a" } }))).toEqual({
    text: "a",
  });
});

test("reads a body of any type itself, untouched by Fastify's parsers", async () => {
  const sent = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
  expect(echoed(await send(port, "/post", sent))).toMatchObject({ code: 400 });
  const other = { method: "POST", body: "x", headers: { "content-type": "text/x" } };
  expect((await send(port, "/post", other)).status).toBe(415);
});

test("leaves other paths to Fastify", async () => {
  expect((await send(port, "/own")).json).toEqual({ own: true });
});

test.each<[string, string, number]>([
  ["GET", "/nope", 404],
  ["DELETE", "/own", 404],
  ["GET", "/get/", 404],
  ["PUT", "/get", 405],
  ["GET", "/%zz", 400],
])("%s %s gets an envelope with the status %i", async (method, path, status) => {
  const reply = await send(port, path, { method });
  expect(reply.status).toBe(status);
  expect(reply.json).toEqual({ code: status, message: expect.any(String), data: null });
  expect(reply.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(reply.headers["x-request-id"]).toMatch(/^req-/);
  expect(reply.headers["cache-control"]).toBe("no-store");
});

test("gives Fastify's own errors their status and the envelope", async () => {
  const json = { "content-type": "application/json" };
  const broken = await send(port, "/own", { method: "POST", body: "{", headers: json });
  expect(broken.status).toBe(400);
  expect(broken.json).toEqual({ code: 400, message: expect.any(String), data: null });
  const typed = { method: "POST", body: "x", headers: { "content-type": "x/y" } };
  expect((await send(port, "/own", typed)).json).toMatchObject({ code: 415 });
});

test("masks and logs what a route of Fastify throws", async () => {
  const reply = await send(port, "/fails");
  expect(reply.status).toBe(500);
  expect(reply.json).toEqual({ code: 500, message: "internal error", data: null });
  expect(logged.join("")).toContain("secret at");
});

test.each(["/get", "/own", "/nope", "/fails"])(
  "marks replies of %s for other origins",
  async (path) => {
    const headers = { origin: "https://a.example" };
    const reply = await send(port, path, { headers });
    expect(reply.headers["access-control-allow-origin"]).toBe("https://a.example");
    expect(reply.headers.vary).toBe("Origin");
    const preflight = { ...headers, "access-control-request-method": "GET" };
    expect((await send(port, path, { method: "OPTIONS", headers: preflight })).status).toBe(204);
  },
);

/** Sends bytes as they are and reads until the connection ends. */
async function exchange(text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  let received = "";
  for await (const data of socket) received += String(data);
  return received;
}

test.each<[string, string, number]>([
  ["a URL over the limit", `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  ["a URL far over the limit", `GET /?${"a".repeat(300_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 414],
  ["headers over the limit", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`, 431],
  ["many headers", `GET / HTTP/1.1\r\nHost: x\r\n${"A: b\r\n".repeat(9_000)}\r\n`, 431],
  ["what is no HTTP", "hello\r\n\r\n", 400],
  [
    "two lengths",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    400,
  ],
])("answers %s with an envelope before it reaches a route", async (_, text, status) => {
  const received = await exchange(text);
  const [head = "", body = ""] = received.split("\r\n\r\n");
  expect(head).toContain(`HTTP/1.1 ${status} `);
  expect(head).toContain("Content-Type: application/json; charset=utf-8");
  expect(JSON.parse(body)).toEqual({ code: status, message: expect.any(String), data: null });
});
