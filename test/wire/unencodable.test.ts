import { create, type DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Client, credentials } from "@grpc/grpc-js";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import {
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import {
  SiteService,
  type WatchSitesResponse,
  WatchSitesResponseSchema,
} from "../../gen/mooring/v1/site_service_pb.js";
import {
  type GetStatusResponse,
  GetStatusResponseSchema,
  StatusService,
} from "../../gen/mooring/v1/status_service_pb.js";
import { encodedReflection } from "../../src/app/reflection.ts";
import type { CallReport } from "../../src/gateway/observer.ts";
import { startedForAll } from "../started.ts";
import { type Entry, sharedPortTransports } from "./all-transports.ts";
import { serveRoutes } from "./serve-routes.ts";
import { type Failure, WireFailure } from "./transport/transport.ts";

const { ping } = PublicService.method;
const { getStatus } = StatusService.method;
const { watchSites } = SiteService.method;

/** Part of each message, which must be in no error and no log. */
const CONTENT = "content-5e5e";
const OUT_OF_RANGE = 98_765_432_109;

/** Long enough to be compressed, and too short. */
const sizes = [
  ["short", CONTENT],
  ["compressible", CONTENT.repeat(200)],
] as const;

const badStatuses = [
  ["a uint32 out of range", { processId: OUT_OF_RANGE }, "process_id"],
  ["a fraction of nanoseconds", { startTime: { seconds: 1n, nanos: 1.5 } }, "start_time.nanos"],
  ["a lone surrogate", { databaseId: `${CONTENT}\ud800` }, "database_id"],
] as const;

const badSites = [
  ["an int32 out of range", { status: { knownSettings: OUT_OF_RANGE } }, "status.known_settings"],
  ["a fraction of nanoseconds", { createTime: { seconds: 1n, nanos: 1.5 } }, "create_time.nanos"],
  ["a lone surrogate", { overrides: { [CONTENT]: `${CONTENT}\udc00` } }, "overrides"],
] as const;

/** Every bad value over one transport, and the first one over each. */
const product = <B, C>(entries: readonly Entry[], bads: readonly B[], cases: readonly C[]) =>
  entries.flatMap((entry) =>
    bads
      .slice(0, entry.name === "gRPC" ? undefined : 1)
      .flatMap((bad) => cases.map((one) => [entry, bad, one] as const)),
  );

/** Replies of the served methods, which a test sets. */
let reply = (): GetStatusResponse => create(GetStatusResponseSchema);
let events: readonly WatchSitesResponse[] = [];
/** Reports of the calls of a test. */
let reports: CallReport[] = [];
const failed = () => reports.filter(({ error }) => error !== undefined);

beforeEach(() => {
  reports = [];
});

/** Serves two methods of one message each, in addition to ping. */
const served = startedForAll(() =>
  serveRoutes(
    (router) => {
      router.service(PublicService, { ping: () => ({ message: "pong" }) });
      router.service(StatusService, { getStatus: () => reply() });
      router.service(SiteService, {
        async *watchSites() {
          yield* events;
        },
      });
    },
    { observer: { ended: (report) => void reports.push(report) } },
  ),
);

function expectOnlyInLog(failures: readonly CallReport[], method: DescMethod, field: string) {
  expect(failures.map(({ desc, error }) => [desc?.name, error?.code])).toEqual([
    [method.name, Code.Internal],
  ]);
  const { cause } = failures[0]?.error ?? {};
  expect(cause).toBeInstanceOf(Error);
  const log = [(cause as Error).message, (cause as Error).stack].join("\n");
  expect(log).toContain(`${field} is invalid`);
  expect(log).not.toContain(CONTENT);
  expect(log).not.toContain(String(OUT_OF_RANGE));
}

const isInternal = (code: number) => ({ code, message: "internal error" });

test.each(
  product(sharedPortTransports, badStatuses, sizes).map(
    ([transport, bad, size]) => [transport.name, bad[0], size[0], transport, bad, size] as const,
  ),
)("%s: a reply with %s is INTERNAL, %s", async (_transport, _bad, _size, entry, bad, size) => {
  const [, fields, path] = bad;
  const cached = create(GetStatusResponseSchema, { version: size[1], ...fields });
  reply = () => cached;
  const transport = entry.open(served);
  onTestFinished(() => transport.close());
  const ask = () => transport.call(getStatus, create(getStatus.input), {});
  // The second reply is the same message.
  for (const time of [1, 2]) {
    expect(await ask()).toMatchObject({
      kind: "failure",
      ...isInternal(transport.codeOf(Code.Internal)),
    });
    expectOnlyInLog(failed().slice(time - 1), getStatus, path);
  }
  if (transport.carries(ping))
    expect(await transport.call(ping, create(ping.input), {})).toMatchObject({ kind: "reply" });
});

async function watched(messages: AsyncIterable<unknown>) {
  let count = 0;
  try {
    for await (const _message of messages) count += 1;
  } catch (error) {
    if (!(error instanceof WireFailure)) throw error;
    return { count, failure: error.failure satisfies Failure };
  }
  return { count, failure: undefined };
}

test.each(
  product(
    sharedPortTransports.filter(({ name }) => name !== "Connect GET"),
    badSites,
    [...sizes.map((size) => [...size, 0] as const), ...sizes.map((size) => [...size, 2] as const)],
  ).map(
    ([transport, bad, size]) =>
      [transport.name, bad[0], size[0], size[2], transport, bad, size[1]] as const,
  ),
)("%s: an event with %s is INTERNAL, %s, after %i others", async (...given) => {
  const [, , , before, entry, [, fields, path], text] = given;
  const event = (one: object) =>
    create(WatchSitesResponseSchema, { sites: [{ name: text }, { name: text, ...one }] });
  const good = Array.from({ length: before }, () => event({}));
  events = [...good, event(fields), event({})];
  const transport = entry.open(served);
  onTestFinished(() => transport.close());
  const { count, failure } = await watched(
    transport.watch(watchSites, create(watchSites.input), {}),
  );
  expect(count).toBe(before);
  expect(failure).toMatchObject(isInternal(transport.codeOf(Code.Internal)));
  expectOnlyInLog(failed(), watchSites, `sites[1].${path}`);
  expect(await transport.call(ping, create(ping.input), {})).toMatchObject({ kind: "reply" });
});

test("gRPC reflection: a reply that cannot be encoded is INTERNAL", async () => {
  const logged: unknown[] = [];
  const bad: ServerReflectionResponse = create(ServerReflectionResponseSchema, {
    validHost: CONTENT,
    messageResponse: {
      case: "errorResponse",
      value: { errorCode: OUT_OF_RANGE, errorMessage: CONTENT },
    },
  });
  const reflecting = await serveRoutes(() => undefined, {
    reflect: encodedReflection(
      () => bad,
      (error) => logged.push((error.cause as Error).message),
    ),
  });
  onTestFinished(() => reflecting.close());
  const client = new Client(`127.0.0.1:${reflecting.grpcPort}`, credentials.createInsecure());
  onTestFinished(() => client.close());
  const ask = () =>
    new Promise((resolve) => {
      const stream = client.makeBidiStreamRequest(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
      );
      stream
        .on("error", () => undefined)
        .on("status", ({ code, details }) => {
          resolve({ code, details });
        });
      stream.resume();
      stream.write(Buffer.alloc(0));
    });
  for (const _time of [1, 2])
    expect(await ask()).toEqual({ code: Code.Internal, details: "internal error" });
  expect(logged.join()).toContain("error_response.error_code is invalid");
  expect(logged.join()).not.toContain(CONTENT);
});
