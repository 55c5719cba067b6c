import { create } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import { expect, test } from "vitest";
import {
  DriverService,
  GetDriverRequestSchema,
  GetDriverResponseSchema,
} from "../../gen/mooring/v1/driver_service_pb.js";
import { createMethods } from "../../src/gateway/method.ts";
import { TestCall } from "./test-call.ts";

/** The only method of these routes, and a call of it. */
function methodOf(routes: (router: ConnectRouter) => ConnectRouter, interceptors: Interceptor[]) {
  const method = createMethods(routes, interceptors).find(({ desc }) => desc.name === "GetDriver");
  if (method?.kind !== "unary") throw new Error("the method is missing");
  return { method, call: new TestCall(method.desc, { "x-tone": "plain" }) };
}

/** The handler's input as text. */
async function ask(...interceptors: Interceptor[]): Promise<string> {
  const routes = (router: ConnectRouter): ConnectRouter =>
    router.service(DriverService, {
      getDriver: ({ driver }, { requestHeader, signal }) =>
        create(GetDriverResponseSchema, {
          revision: `${driver} ${requestHeader.get("x-tone")} ${signal.aborted}`,
        }),
    });
  const { method, call } = methodOf(routes, interceptors);
  const { message } = await method.invoke(create(GetDriverRequestSchema, { driver: "S3" }), call);
  return (message as { revision?: string }).revision ?? "";
}

test("a handler receives the call", async () => {
  expect(await ask()).toBe("S3 plain false");
});

test("an interceptor may change headers in place", async () => {
  const louder: Interceptor = (next) => (request) => {
    request.header.set("x-tone", "loud");
    return next(request);
  };
  expect(await ask(louder)).toBe("S3 loud false");
});

test("an interceptor may pass a copy of the request, which later ones receive completely", async () => {
  const seen: unknown[] = [];
  const other: Interceptor = (next) => (request) =>
    request.stream
      ? next(request)
      : next({ ...request, message: create(GetDriverRequestSchema, { driver: "SFTP" }) });
  const observe: Interceptor = (next) => (request) => {
    seen.push(
      request.header.get("x-tone"),
      request.signal.aborted,
      request.url,
      request.method.name,
    );
    return next(request);
  };
  expect(await ask(other, observe)).toBe("SFTP plain false");
  expect(seen).toEqual(["plain", false, "http://localhost/", "GetDriver"]);
});

test("a copy may have other headers and another signal", async () => {
  const other: Interceptor = (next) => (request) =>
    next({ ...request, header: new Headers({ "x-tone": "soft" }), signal: AbortSignal.abort() });
  expect(await ask(other)).toBe("S3 soft true");
});

test("an interceptor may answer, refuse, and read the response", async () => {
  const seen: unknown[] = [];
  const observe: Interceptor = (next) => async (request) => {
    const response = await next(request);
    response.header.set("x-seen", "yes");
    seen.push(response.stream, response.method.name, response.trailer.get("x-none"));
    return response;
  };
  const refuses: Interceptor = () => () => {
    throw new ConnectError("not today", Code.PermissionDenied);
  };
  expect(await ask(observe)).toBe("S3 plain false");
  expect(seen).toEqual([false, "GetDriver", null]);
  await expect(ask(observe, refuses)).rejects.toThrow("not today");
});

test("a copy with another signal alone, or other context values, reaches the handler", async () => {
  const key = createContextKey("none");
  const values = createContextValues().set(key, "own");
  const seen: unknown[] = [];
  const routes = (router: ConnectRouter): ConnectRouter =>
    router.service(DriverService, {
      getDriver: (_request, context) => {
        seen.push(context.signal.aborted, context.values.get(key));
        // The other members of the context work as well.
        context.responseHeader.set("x-seen", context.requestHeader.get("x-tone") ?? "");
        seen.push(context.timeoutMs(), context.method.name);
        return {};
      },
    });
  const other: Interceptor = (next) => (request) =>
    next({ ...request, signal: AbortSignal.abort(), contextValues: values });
  const { method, call } = methodOf(routes, [other]);
  await method.invoke(create(GetDriverRequestSchema), call);
  expect(seen).toEqual([true, "own", undefined, "GetDriver"]);
  expect(call.responseHeader.get("x-seen")).toBe("plain");
});

test("an interceptor may answer with a copy of the response, also with other headers", async () => {
  const copies: Interceptor = (next) => async (request) => {
    const response = await next(request);
    if (response.stream) return response;
    const message = create(GetDriverResponseSchema, { revision: "other" });
    const header = new Headers({ "x-copy": "1" });
    return { ...response, message, header, trailer: new Headers({ "x-end": "2" }) };
  };
  const adds: Interceptor = (next) => async (request) => {
    const response = await next(request);
    response.header.set("x-outer", response.header.get("x-copy") ?? "");
    return response.stream ? response : { ...response };
  };
  const routes = (router: ConnectRouter): ConnectRouter =>
    router.service(DriverService, {
      getDriver: (_request, { responseHeader }) => {
        responseHeader.set("x-handler", "3");
        return {};
      },
    });
  const { method, call } = methodOf(routes, [adds, copies]);
  const { message } = await method.invoke(create(GetDriverRequestSchema), call);
  expect(message).toMatchObject({ revision: "other" });
  expect(Object.fromEntries(call.responseHeader)).toEqual({ "x-copy": "1", "x-outer": "1" });
  expect(Object.fromEntries(call.responseTrailer)).toEqual({ "x-end": "2" });
});
