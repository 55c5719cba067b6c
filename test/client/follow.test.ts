import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter, createGrpcTransport } from "@connectrpc/connect-node";
import { expect, test } from "vitest";
import {
  SettingService,
  type WatchSettingsResponse,
  WatchSettingsResponseSchema,
} from "../../gen/mooring/v1/setting_service_pb.js";
import {
  abortablePause,
  type FollowOptions,
  type FollowState,
  follow,
} from "../../src/client/follow.ts";
import { serve } from "../loopback.ts";

type Response = MessageInitShape<typeof WatchSettingsResponseSchema>;
type Stream = (after: bigint | undefined, context: HandlerContext) => AsyncIterable<Response>;
type Options = Partial<FollowOptions<WatchSettingsResponse, bigint>>;

/** A server whose nth stream is the nth function; further streams stay open without messages. */
async function startServer(...streams: readonly Stream[]) {
  const afters: (bigint | undefined)[] = [];
  const sessions = new Set<Http2Session>();
  const server = createServer(
    connectNodeAdapter({
      routes: (router) =>
        router.service(SettingService, {
          watchSettings: ({ afterEtag }, context) => {
            const after = afterEtag === undefined ? undefined : BigInt(afterEtag);
            const stream = streams[afters.push(after) - 1] ?? silence;
            return stream(after, context);
          },
        }),
    }),
  ).on("session", (session) => sessions.add(session));
  const { port } = await serve(server);
  const cut = (): void => {
    for (const session of sessions) session.destroy();
  };
  const client = createClient(
    SettingService,
    createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }),
  );
  const pauses: number[] = [];
  const states: FollowState[] = [];
  const events = (options: Options = {}) =>
    follow<WatchSettingsResponse, bigint>({
      open: (after, call) =>
        client.watchSettings(after === undefined ? {} : { afterEtag: String(after) }, call),
      positionOf: ({ revision }) => revision,
      pause: async (ms) => void pauses.push(ms),
      random: () => 0.5,
      onState: (state) => void states.push(state),
      ...options,
    });
  return { afters, cut, events, pauses, states };
}

/** Sends these revisions, then fails or ends. */
const sends = (revisions: readonly bigint[], code?: Code): Stream =>
  async function* () {
    for (const revision of revisions) yield create(WatchSettingsResponseSchema, { revision });
    if (code !== undefined) throw new ConnectError("as configured", code);
  };

/** Sends these revisions and stays open until the client disconnects. */
const staysOpen = (...revisions: readonly bigint[]): Stream =>
  async function* (after, context) {
    yield* sends(revisions)(after, context);
    yield* silence(after, context);
  };

async function* silence(_: unknown, { signal }: HandlerContext): AsyncGenerator<Response> {
  if (!signal.aborted) await once(signal, "abort");
  yield* [];
}

/** The first revisions received. */
async function take(count: number, events: AsyncIterable<WatchSettingsResponse>) {
  const revisions: bigint[] = [];
  for await (const { revision } of events) if (revisions.push(revision) === count) break;
  return revisions;
}

const kinds = (states: readonly FollowState[]) => states.map(({ kind }) => kind);

test.each([
  Code.Aborted,
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Internal,
  Code.ResourceExhausted,
  Code.Unavailable,
  Code.Unknown,
])("after %i the next stream resumes after the last event", async (code) => {
  const { afters, events } = await startServer(sends([4n, 5n], code), sends([6n]));
  expect(await take(3, events({ from: 3n }))).toEqual([4n, 5n, 6n]);
  expect(afters).toEqual([3n, 5n]);
});

test("a stream that ends, and a connection that breaks, are resumed", async () => {
  const { afters, cut, events } = await startServer(sends([1n]), staysOpen(2n), sends([3n]));
  const seen: bigint[] = [];
  for await (const { revision } of events()) {
    seen.push(revision);
    if (revision === 2n) cut();
    if (revision === 3n) break;
  }
  expect(seen).toEqual([1n, 2n, 3n]);
  expect(afters).toEqual([undefined, 1n, 2n]);
});

test.each([
  Code.InvalidArgument,
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.OutOfRange,
  Code.Unimplemented,
])("%i is not retried", async (code) => {
  const { afters, events, pauses, states } = await startServer(sends([1n], code));
  await expect(take(2, events())).rejects.toMatchObject({ code });
  expect(afters).toHaveLength(1);
  expect(pauses).toEqual([]);
  expect(states).toMatchObject([{ kind: "connected" }, { kind: "failed", error: { code } }]);
});

test("an error of the program itself is not retried", async () => {
  const { events } = await startServer();
  const open = () => {
    throw new TypeError("a mistake");
  };
  await expect(take(1, events({ open }))).rejects.toThrow("a mistake");
});

test("pauses grow to the maximum with jitter, and are reset by an event", async () => {
  const fails = sends([], Code.Unavailable);
  const { events, pauses } = await startServer(
    fails,
    fails,
    fails,
    fails,
    sends([1n], Code.Unavailable),
    fails,
    sends([2n]),
  );
  let at = 0;
  const random = () => [0, 0.5, 0, 0.5, 0, 0.5][at++] ?? 0;
  expect(await take(2, events({ random, longestPause: 900 }))).toEqual([1n, 2n]);
  expect(pauses).toEqual([125, 375, 450, 675, 125, 375]);
});

test("the state is reported: connected after the headers, waiting with the error and the pause", async () => {
  const { events, states } = await startServer(sends([1n], Code.Unavailable), staysOpen());
  const ending = new AbortController();
  const ended = take(2, events({ signal: ending.signal }));
  await expect.poll(() => kinds(states).slice(0, 2)).toEqual(["connected", "waiting"]);
  expect(states[1]).toMatchObject({ error: { code: Code.Unavailable }, ms: 187.5 });
  ending.abort();
  expect(await ended).toEqual([1n]);
});

test("the response headers alone make a stream connected", async () => {
  const { events, states } = await startServer();
  const ending = new AbortController();
  const open: Options["open"] = async function* (_, { onHeader, signal }) {
    onHeader();
    await once(signal, "abort");
    yield* [];
  };
  const ended = take(1, events({ open, signal: ending.signal }));
  await expect.poll(() => kinds(states)).toEqual(["connected"]);
  ending.abort();
  expect(await ended).toEqual([]);
});

test("the signal ends a pause, a silent stream and a restart at once, without an error", async () => {
  const ending = new AbortController();
  const broken = await startServer(sends([1n], Code.Unavailable));
  const pause = (_ms: number, signal: AbortSignal) => abortablePause(3_600_000, signal);
  const waiting = take(2, broken.events({ signal: ending.signal, pause }));
  const open = await startServer(staysOpen(1n));
  const silent = take(2, open.events({ signal: ending.signal }));
  const expired = await startServer(sends([1n]), sends([], Code.OutOfRange));
  let restarting = false;
  const restart = (_error: ConnectError, signal: AbortSignal) => {
    restarting = true;
    return new Promise<bigint>((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new ConnectError("left", Code.Canceled)));
    });
  };
  const lost = take(2, expired.events({ signal: ending.signal, restart }));
  await expect.poll(() => kinds(broken.states)).toContain("waiting");
  await expect.poll(() => kinds(open.states)).toContain("connected");
  await expect.poll(() => restarting).toBe(true);
  ending.abort();
  expect(await Promise.all([waiting, silent, lost])).toEqual([[1n], [1n], [1n]]);
});

test("a signal that is aborted already opens no stream", async () => {
  const { afters, events } = await startServer();
  expect(await take(1, events({ signal: AbortSignal.abort() }))).toEqual([]);
  expect(afters).toEqual([]);
});

test("break in the consumer's loop ends the call", async () => {
  let left = false;
  const { events } = await startServer(async function* (after, context) {
    context.signal.addEventListener("abort", () => {
      left = true;
    });
    yield* staysOpen(1n)(after, context);
  });
  await take(1, events());
  await expect.poll(() => left).toBe(true);
});

test("OUT_OF_RANGE restarts at once, and after a pause when the restart itself fails", async () => {
  const { afters, events, pauses } = await startServer(
    sends([5n]),
    sends([], Code.OutOfRange),
    sends([90n]),
  );
  const errors: string[] = [];
  const restart = async ({ rawMessage }: ConnectError) => {
    errors.push(rawMessage);
    if (errors.length === 1) throw new ConnectError("not yet", Code.Unavailable);
    return 80n;
  };
  expect(await take(2, events({ from: 4n, restart }))).toEqual([5n, 90n]);
  expect(afters).toEqual([4n, 5n, 80n]);
  expect(errors).toEqual(["as configured", "as configured"]);
  // After the end of the first stream, and after the failed restart.
  expect(pauses).toEqual([187.5, 375]);
});

test("OUT_OF_RANGE again before any event is an error", async () => {
  const lost = sends([], Code.OutOfRange);
  const { afters, events } = await startServer(lost, lost);
  const restart = () => undefined;
  await expect(take(1, events({ from: 4n, restart }))).rejects.toMatchObject({
    code: Code.OutOfRange,
  });
  expect(afters).toEqual([4n, undefined]);
});

test("with retryFirst false, an error before the first event is not retried", async () => {
  const { afters, events } = await startServer(sends([], Code.Unavailable));
  await expect(take(1, events({ retryFirst: false }))).rejects.toMatchObject({
    code: Code.Unavailable,
  });
  expect(afters).toHaveLength(1);
});

test("a silent stream is replaced by one that resumes after the last event", async () => {
  const next: Stream = (after = 0n, context) => staysOpen(after + 1n)(after, context);
  const { events } = await startServer(...Array.from({ length: 100 }, () => next));
  expect(await take(3, events({ maxSilence: 100 }))).toEqual([1n, 2n, 3n]);
});
