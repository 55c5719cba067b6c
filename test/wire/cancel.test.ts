import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { startedForAll } from "../started.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { enveloped } from "./raw/cuttable.ts";
import { askHttp2, saying, textOf } from "./raw/refusal.ts";
import { serveRoutes } from "./serve-routes.ts";

const { getPublicSettings, watchPublicSettings } = PublicService.method;

const served = startedForAll(() =>
  serveRoutes((router) =>
    router.service(PublicService, {
      getPublicSettings: async (_, context) => {
        throw await enter(context);
      },
      async *watchPublicSettings(_, context) {
        yield { revision: 1n };
        await enter(context);
      },
    }),
  ),
);

/** A handler that waits only for its own end. */
interface Waiting {
  readonly context: HandlerContext;
  readonly ended: Promise<unknown>;
}

let entered: PromiseWithResolvers<Waiting>;

function enter(context: HandlerContext): Promise<unknown> {
  const { signal } = context;
  const ended = signal.aborted
    ? Promise.resolve(signal.reason)
    : once(signal, "abort").then(() => signal.reason as unknown);
  entered.resolve({ context, ended });
  return ended;
}

async function reasonOf({ ended }: Waiting): Promise<Code> {
  return ConnectError.from(await ended).code;
}

describe.each(sharedPortTransports)("over $name", ({ open }) => {
  const transport = startedForAll(() => open(served));

  beforeAll(() => {
    entered = Promise.withResolvers();
  });

  test("a client that disconnects cancels its call", async () => {
    entered = Promise.withResolvers();
    const leaving = new AbortController();
    const call = transport
      .call(getPublicSettings, create(getPublicSettings.input), { signal: leaving.signal })
      .catch(() => undefined);
    const waiting = await entered.promise;
    leaving.abort();
    expect(await reasonOf(waiting)).toBe(Code.Canceled);
    await call;
  });

  test("a client that disconnects cancels its stream", async () => {
    if (!transport.carries(watchPublicSettings)) return;
    entered = Promise.withResolvers();
    const leaving = new AbortController();
    const messages = transport
      .watch(watchPublicSettings, create(watchPublicSettings.input), { signal: leaving.signal })
      [Symbol.asyncIterator]();
    const first = await messages.next();
    expect(first.value).toMatchObject({ revision: "1" });
    // The handler continues when its reader requests more.
    const more = messages.next().catch(() => undefined);
    const waiting = await entered.promise;
    leaving.abort();
    expect(await reasonOf(waiting)).toBe(Code.Canceled);
    await more;
  });
});

/** Protocols with a deadline, and their encoding of 50 milliseconds. */
const limits = [
  ["grpc", "grpc-timeout", ["50m", "50000u", "50000000n"]],
  ["grpc-web+proto", "grpc-timeout", ["50m", "50000u"]],
  ["proto", "connect-timeout-ms", ["50"]],
  ["json", "connect-timeout-ms", ["50"]],
] as const;

const bodies = {
  grpc: enveloped(Buffer.alloc(0)),
  "grpc-web+proto": enveloped(Buffer.alloc(0)),
  proto: Buffer.alloc(0),
  json: Buffer.from("{}"),
} as const;

describe.each(limits)("a deadline of %s", (type, header, texts) => {
  const path = `/mooring.v1.PublicService/${getPublicSettings.name}`;
  const headers = { ":method": "POST", ":path": path, "content-type": `application/${type}` };

  test.each(texts)("of %s ends the handler and the call", async (text) => {
    entered = Promise.withResolvers();
    const answer = await askHttp2(served.port, { ...headers, [header]: text }, bodies[type]);
    expect(textOf(answer)).toMatch(saying("deadline_exceeded"));
    expect(await reasonOf(await entered.promise)).toBe(Code.DeadlineExceeded);
  });

  test.each(texts)("of %s counts from the headers, without a body", async (text) => {
    const answer = await askHttp2(served.port, { ...headers, [header]: text }, undefined);
    expect(textOf(answer)).toMatch(saying("deadline_exceeded"));
  });

  test("that is invalid is INVALID_ARGUMENT", async () => {
    for (const text of ["x", "-1", "1X", "1.5S", "123456789012S"]) {
      const answer = await askHttp2(served.port, { ...headers, [header]: text }, bodies[type]);
      expect(textOf(answer), text).toMatch(saying("invalid_argument"));
    }
  });
});

test.each([
  ["2H", 7_200_000],
  ["90M", 5_400_000],
  ["4000S", 4_000_000],
  ["3000000m", 3_000_000],
  ["99999999u", 100_000],
] as const)("grpc-timeout %s is %d ms for the handler", async (text, ms) => {
  entered = Promise.withResolvers();
  const answer = askHttp2(
    served.port,
    {
      ":method": "POST",
      ":path": `/mooring.v1.PublicService/${getPublicSettings.name}`,
      "content-type": "application/grpc",
      "grpc-timeout": text,
    },
    bodies.grpc,
  );
  answer.catch(() => undefined);
  const { context } = await entered.promise;
  const left = context.timeoutMs() ?? 0;
  expect(left).toBeLessThanOrEqual(ms);
  // The test itself may be slow; a wrong unit is wrong by a factor of 60 at least.
  expect(left).toBeGreaterThan(ms / 2);
});
