import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import {
  createRegistry,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { fastify } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.js";
import { restGateway } from "../../src/gateway/gateway.ts";
import { createOpenApi } from "../../src/gateway/openapi/document.ts";
import { defineRpcs, made } from "./contract.ts";
import { send } from "./gateway-server.ts";

const methods = defineRpcs([
  { name: "Get", http: { get: "/get/{text}" } },
  { name: "Read", http: { get: "/read/{text}" }, streams: "reply" },
]);
const [get, read] = methods as [DescMethodUnary, DescMethodServerStreaming];
const service = methods[0]?.parent as DescService;

let seen: HandlerContext | undefined;
let ended: Promise<unknown> | undefined;

function answer(text: string, context: HandlerContext): void {
  seen = context;
  context.responseHeader.set("x-reply", "head");
  context.responseTrailer.set("x-end", "tail");
  if (text !== "fail") return;
  const violation = { field: "text", description: "is not suitable" };
  const detail = { desc: BadRequestSchema, value: { fieldViolations: [violation] } };
  throw new ConnectError("it failed", Code.InvalidArgument, { "x-why": "so" }, [detail]);
}

let target: Http2Server;
const app = fastify();
let port = 0;

beforeAll(async () => {
  const handler = connectNodeAdapter({
    routes: (router) => {
      router.rpc(get, async (request, context) => {
        const text = String(Reflect.get(request, "text"));
        answer(text, context);
        if (text === "late") {
          const { promise, resolve } = Promise.withResolvers<void>();
          context.signal.addEventListener("abort", () => resolve());
          ended = promise;
          await promise;
        }
        return made(get.output, { word: text });
      });
      router.rpc(read, async function* (request, context) {
        answer(String(Reflect.get(request, "text")), context);
        for (const word of ["a", "b"]) yield made(read.output, { word });
      });
    },
  });
  target = createServer(handler).listen(0, "127.0.0.1");
  await new Promise((resolve) => target.once("listening", resolve));
  const baseUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  await app.register(restGateway, {
    services: [service],
    target: createGrpcTransport({ baseUrl, idleConnectionTimeoutMs: 1 }),
    registry: createRegistry(service),
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  port = (app.server.address() as AddressInfo).port;
});
afterAll(async () => {
  await app.close();
  target.close();
});

test("a unary call is sent with its metadata and returns headers and trailers", async () => {
  const headers = { "x-own": "1", accept: "application/json", "if-none-match": '"x"' };
  const reply = await send(port, "/get/x", { headers });
  expect([reply.status, reply.json]).toMatchObject([200, { word: "x" }]);
  expect(reply.headers).toMatchObject({ "x-reply": "head", "trailer-x-end": "tail" });
  expect(seen?.requestHeader.get("x-own")).toBe("1");
  expect(seen?.requestHeader.get("if-none-match")).toBeNull();
});

test("an error is returned with its details", async () => {
  const reply = await send(port, "/get/fail");
  expect(reply.status).toBe(400);
  expect(reply.json).toMatchObject({
    code: 3,
    message: "it failed",
    details: [{ fieldViolations: [{ field: "text", description: "is not suitable" }] }],
  });
});

test("a stream is passed on message by message", async () => {
  const reply = await send(port, "/read/x");
  const words = reply.text.trim().split("\n");
  expect(words.map((line) => JSON.parse(line).word)).toEqual(["a", "b"]);
  expect(reply.headers["x-reply"]).toBe("head");
  expect((await send(port, "/read/fail")).status).toBe(400);
});

test("a deadline is passed on, and its end ends the upstream call", async () => {
  const reply = await send(port, "/get/late", { headers: { "grpc-timeout": "300m" } });
  expect([reply.status, reply.json]).toMatchObject([504, { code: 4 }]);
  expect(seen?.timeoutMs()).toBeLessThanOrEqual(300);
  await ended;
});

test("services without a target are refused", async () => {
  await expect(fastify().register(restGateway, { services: [service] })).rejects.toThrow("target");
});

test("the document has the gateway's names", () => {
  const options = { target: createGrpcTransport({ baseUrl: "http://127.0.0.1:1" }) };
  const document = createOpenApi({ ...options, services: [service], title: "T", version: "1" });
  const text = JSON.stringify(document);
  expect(text).toContain('"partName"');
  expect(text).not.toContain('"part_name"');
});
