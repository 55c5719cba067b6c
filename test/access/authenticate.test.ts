import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { type CallerSource, createAuthentication } from "../../src/access/authenticate.ts";
import {
  Admission,
  type Caller,
  createGrant,
  grantOf,
  NOTHING,
  ROOT,
} from "../../src/access/grant.ts";
import { publicMethods } from "../../src/access/requirement.ts";
import { createThrottle } from "../../src/access/throttle.ts";
import { callKey } from "../../src/gateway/call.ts";
import { unavailable } from "../../src/messages/error.ts";
import { message } from "../../src/messages/message.ts";
import { TestCall } from "../gateway/test-call.ts";
import { thrown } from "../thrown.ts";

const { ping } = PublicService.method;
const { listSettings, saveSettings } = SettingService.method;

/** A call with this value of Authorization. */
const callOf = (method: DescMethod, authorization?: string) =>
  new TestCall(method, authorization === undefined ? {} : { authorization });

const grant = createGrant(["settings:read"], []);
const reader: Caller = { name: "ann", tokenId: "id", grant, until: 500 };
type Found = Caller | undefined | Promise<Caller | undefined>;

/** Access over a fake identity with fixed callers for some tokens. */
function accessOf(callers: Record<string, () => Found> = { right: () => reader }, perMinute = 0) {
  const source = {
    fresh: vi.fn<CallerSource["fresh"]>(async () => undefined),
    callerOf: vi.fn<CallerSource["callerOf"]>((token) => callers[token]?.()),
  };
  const access = createAuthentication(source, createThrottle({ perMinute }), (error) =>
    Object.assign(error as object, { localized: true }),
  );
  return { access, source, callers };
}

const failureOf = (work: () => unknown) => thrown(ConnectError, work);

const unauthenticated = (text: RegExp) => ({
  code: Code.Unauthenticated,
  message: expect.stringMatching(text),
});
const MISSING = unauthenticated(/missing token/);
const ENDED = unauthenticated(/was reset or revoked/);

test("the public methods are exactly these", () => {
  expect([...publicMethods].map(({ name }) => name).sort()).toEqual([
    "Check",
    "GetPublicSettings",
    "List",
    "Ping",
    "Watch",
    "WatchPublicSettings",
  ]);
});

describe("admission", () => {
  test("admits public methods without a read of the database, asynchronously", async () => {
    const { access, source } = accessOf();
    const call = new TestCall(ping);
    const admitted = access.admit(call);
    expect(admitted).toBeInstanceOf(Promise);
    await admitted;
    expect([call.actor, call.principal]).toEqual([undefined, undefined]);
    expect(source.fresh).not.toHaveBeenCalled();
  });

  test.each(["right", "Bearer right"])(
    "with %s has the right of the token's caller",
    async (header) => {
      const { access, source } = accessOf();
      const call = callOf(listSettings, header);
      const before = performance.now();
      await access.admit(call);
      expect(call.actor).toBe("ann");
      expect(call.principal).toEqual(
        new Admission(reader, "right", expect.any(Number) as never, expect.anything()),
      );
      const { at, until, tokenId } = call.principal as Admission;
      expect([at >= before, until, tokenId]).toEqual([true, 500, "id"]);
      expect(source.fresh).toHaveBeenCalledOnce();
      expect(source.callerOf).toHaveBeenCalledWith("right", call);
    },
  );

  test("waits for a caller that is found asynchronously", async () => {
    const call = callOf(listSettings, "later");
    await accessOf({ later: async () => reader }).access.admit(call);
    expect(call.actor).toBe("ann");
  });

  test("is refused without a token, with a wrong one, and without the scope", async () => {
    const { access } = accessOf({ right: () => reader, later: async () => undefined });
    const refused = (header?: string, method: DescMethod = listSettings) =>
      failureOf(() => access.admit(callOf(method, header)));
    expect(await refused()).toMatchObject({ ...MISSING, localized: true });
    const wrong = await refused("wrong");
    expect(wrong).toMatchObject({ code: Code.Unauthenticated, localized: true });
    expect((await refused("later")).message).toBe(wrong.message);
    expect(wrong.message).toMatch(/the setting "token"/);
    expect((await refused("mrg_wrong")).message).not.toBe(wrong.message);
    const scope = await refused("right", saveSettings);
    expect(scope).toMatchObject({ code: Code.PermissionDenied, localized: true });
    expect(scope.message).toContain("settings:write");
  });

  test("after too many wrong tokens is delayed, also for tokens that the upstream refuses", async () => {
    const refusal = new ConnectError("refused there", Code.Unauthenticated);
    const other = new ConnectError("not now", Code.Unavailable);
    const { access } = accessOf(
      { there: () => Promise.reject(refusal), away: () => Promise.reject(other) },
      1,
    );
    const refused = (header: string) => failureOf(() => access.admit(callOf(listSettings, header)));
    expect(await refused("there")).toMatchObject({ code: Code.Unauthenticated });
    for (let at = 0; at < 5; at += 1)
      expect(await refused("away")).toMatchObject({ code: Code.Unavailable });
    expect(await refused("wrong")).toMatchObject({ code: Code.Unauthenticated });
    for (const header of ["wrong", "there"]) {
      const delayed = await refused(header);
      expect(delayed.code).toBe(Code.ResourceExhausted);
      expect(Number(delayed.metadata.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  test("fails with UNAVAILABLE when rights cannot be read", async () => {
    const { access, source } = accessOf();
    source.fresh.mockRejectedValue(unavailable(message("NOT_ADMIN")));
    const failure = await failureOf(() => access.admit(callOf(listSettings, "right")));
    expect(failure).toMatchObject({ code: Code.Unavailable, localized: true });
    expect(await failureOf(() => access.check("right"))).toMatchObject({ code: Code.Unavailable });
  });
});

test("a header is checked like the header of a call", async () => {
  const { access } = accessOf();
  await access.check("right");
  await access.check("bearer right");
  expect(await failureOf(() => access.check(undefined))).toMatchObject(MISSING);
  const [wrong, scoped] = ["wrong", "mrg_wrong"].map((one) => failureOf(() => access.check(one)));
  expect((await wrong)?.code).toBe(Code.Unauthenticated);
  expect((await scoped)?.message).not.toBe((await wrong)?.message);
});

describe("a call that was admitted", () => {
  const NOW = 1_000;
  beforeEach(() => {
    const clock = vi.spyOn(performance, "now").mockReturnValue(NOW);
    return () => clock.mockRestore();
  });

  const admitted = (method: DescMethod, at = NOW, caller = reader) => {
    const call = new TestCall(method);
    call.principal = new Admission(caller, "right", at);
    return call;
  };
  const reply = { stream: false, message: {} };
  /** Passes the interceptor. */
  const pass = async (
    { access }: Pick<ReturnType<typeof accessOf>, "access">,
    request: Record<string, unknown>,
    next = vi.fn(async () => reply as unknown),
  ) => {
    const run = access.interceptor(next as never);
    return run({ stream: false, contextValues: createContextValues(), ...request } as never);
  };

  test("runs without a second check of its right", async () => {
    const fixture = accessOf();
    const request = { method: listSettings, call: admitted(listSettings, NOW - 1) };
    expect(await pass(fixture, request)).toBe(reply);
    expect(fixture.source.callerOf).not.toHaveBeenCalled();
    const next = vi.fn();
    const none = () =>
      pass(fixture, { method: listSettings, call: new TestCall(listSettings) }, next);
    expect(await failureOf(none)).toMatchObject(MISSING);
    const more = { method: saveSettings, call: admitted(saveSettings) };
    await expect(pass(fixture, more, next)).rejects.toMatchObject({ code: Code.PermissionDenied });
    expect(next).not.toHaveBeenCalled();
    expect(await pass(fixture, { method: ping, call: new TestCall(ping) })).toBe(reply);
  });

  test("is found by its context outside the gateway", async () => {
    const { principal } = admitted(listSettings, 0);
    const info = { transport: "grpc", requestId: "", peer: "", principal } as const;
    const contextValues = createContextValues().set(callKey, info);
    const fixture = accessOf();
    expect(await pass(fixture, { method: listSettings, contextValues })).toBe(reply);
    expect(fixture.source.callerOf).not.toHaveBeenCalled();
    expect(await failureOf(() => pass(fixture, { method: listSettings }))).toMatchObject(MISSING);
  });

  test("is checked again after a slow body", async () => {
    const request = { method: listSettings, call: admitted(listSettings, NOW - 1.5) };
    const next = vi.fn(async () => reply as unknown);
    const fixture = accessOf({ right: () => ({ ...reader, until: 700 }) });
    expect(await pass(fixture, request, next)).toBe(reply);
    expect((request.call.principal as Admission).until).toBe(700);
    expect(next).toHaveBeenCalledOnce();
    for (const now of [undefined, { ...reader, grant: createGrant(["settings:read"], []) }])
      expect(
        await failureOf(() => pass(accessOf({ right: () => now }), request, next)),
      ).toMatchObject(ENDED);
    expect(next).toHaveBeenCalledOnce();
  });

  describe("with a stream", () => {
    const streams: AsyncGenerator<number>[] = [];
    afterEach(async () => {
      for (const stream of streams.splice(0)) await stream.return(undefined);
    });

    async function* numbers(): AsyncGenerator<number> {
      yield 1;
      yield 2;
    }

    /** Opens a stream and reads its first message. */
    const open = async (fixture: ReturnType<typeof accessOf>, caller = reader) => {
      const call = admitted(listSettings, NOW, caller);
      const next = vi.fn(async () => ({ stream: true, message: numbers(), kept: 1 }));
      const request = { method: listSettings, call, stream: true };
      const response = await pass(fixture, request, next as never);
      expect(response).toMatchObject({ stream: true, kept: 1 });
      const stream = response.message as AsyncGenerator<number>;
      streams.push(stream);
      return { call, stream, first: () => stream.next() };
    };

    test("passes the messages on without further checks", async () => {
      const fixture = accessOf();
      const { call, stream } = await open(fixture);
      const messages: number[] = [];
      for await (const message of stream) messages.push(message);
      expect(messages).toEqual([1, 2]);
      fixture.access.expire(1_000);
      expect(call.signal.aborted).toBe(false);
    });

    test("in one direction is passed on", async () => {
      const fixture = accessOf();
      const call = admitted(listSettings);
      const request = { method: listSettings, call, stream: true };
      expect(await pass(fixture, request)).toBe(reply);
      const streamed = { stream: true, message: numbers() };
      const next = vi.fn(async () => streamed as unknown);
      expect(await pass(fixture, { ...request, stream: false }, next)).toBe(streamed);
      const open = { method: ping, call: new TestCall(ping), stream: true };
      expect(await pass(fixture, open, next)).toBe(streamed);
    });

    test("is refused when the right has ended", async () => {
      const { first } = await open(accessOf({}));
      expect(await failureOf(first)).toMatchObject(ENDED);
    });

    test("ends when the right expires", async () => {
      const fixture = accessOf({ right: () => ({ ...reader, until: 600 }) });
      const { call, first } = await open(fixture);
      await first();
      fixture.access.expire(599);
      expect(call.signal.aborted).toBe(false);
      fixture.access.expire(600);
      expect(call.signal.reason).toMatchObject(unauthenticated(/has expired/));
    });

    test("continues when the right does not expire", async () => {
      const endless = { ...reader, until: undefined };
      const fixture = accessOf({ right: () => endless });
      const { call, first } = await open(fixture, endless);
      await first();
      fixture.access.expire(Number.MAX_VALUE);
      expect(call.signal.aborted).toBe(false);
    });

    test("continues until the new end of a renewed right", async () => {
      const fixture = accessOf();
      const { call, first } = await open(fixture);
      await first();
      fixture.callers["right"] = () => ({ ...reader, until: 400 });
      await fixture.access.recheck();
      expect(call.signal.aborted).toBe(false);
      fixture.access.expire(400);
      expect(call.signal.aborted).toBe(true);
    });

    test.each<[string, () => Found]>([
      ["was revoked", () => undefined],
      ["has changed", () => ({ ...reader, grant: createGrant(["settings:read"], []) })],
      ["cannot be read", () => Promise.reject(new Error("away"))],
    ])("ends when the right %s", async (_, now) => {
      const fixture = accessOf();
      const { call, first } = await open(fixture);
      await first();
      fixture.callers["right"] = now;
      await fixture.access.recheck();
      expect(call.signal.reason).toMatchObject(ENDED);
    });
  });
});

describe("the grant of a call", () => {
  const call = new TestCall(listSettings);

  test("is the grant of its admission, and empty before it", () => {
    expect(grantOf(call)).toBe(NOTHING);
    call.principal = new Admission(reader, "right", 0);
    expect(grantOf(call)).toBe(grant);
  });

  test("in the context of an application is the grant of its caller", () => {
    const of = (info: Record<string, unknown> | undefined) =>
      grantOf({ values: createContextValues().set(callKey, info as never) });
    expect(of(undefined)).toBe(ROOT);
    expect(of({ transport: "cli" })).toBe(ROOT);
    expect(of({ transport: "grpc" })).toBe(NOTHING);
    expect(of({ transport: "grpc", principal: new Admission(reader, "right", 0) })).toBe(grant);
  });
});
